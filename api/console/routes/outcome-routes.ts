import type Router from '@koa/router';
import type { Action } from '../../../shared/admin/action.js';
import { AdminError } from '../../../shared/admin/admin-error.js';
import { runAction } from '../../../shared/admin/run-action.js';
import type {
  importOutcomesInput,
  importOutcomesOutput,
  previewOutcomesInput,
  previewOutcomesOutput,
} from '../../../shared/admin/schemas/outcomes.js';
import { mayActAs } from '../../../shared/contract/roles.js';
import type { Schema } from '../../../shared/contract/schema.js';
import type { QueuedCall } from '../../request/large-bodies.js';
import { fileTimeoutMs } from '../../routes/outcomes/import-file.js';
import { type OutcomesDeps, receiveOutcomes } from '../../routes/outcomes/record-outcomes.js';
import { answered } from '../../routes/reading.js';
import { type ActionRoutesDeps, noteEffect, queryOf, requestContext } from './action-routes.js';

/** The actions on files of outcomes, and what receives their bodies. */
export interface OutcomeFiles {
  readonly deps: OutcomesDeps;
  readonly preview: Action<typeof previewOutcomesInput, typeof previewOutcomesOutput, QueuedCall>;
  readonly import: Action<typeof importOutcomesInput, typeof importOutcomesOutput, QueuedCall>;
}

export interface OutcomeRoutesDeps extends Omit<ActionRoutesDeps, 'routes'> {
  readonly outcomeFiles: OutcomeFiles;
}

/** Adds the preview and the import of a file of outcomes: raw bodies, with the options in the query. */
export function addOutcomeRoutes(router: Router, { outcomeFiles, ...deps }: OutcomeRoutesDeps): void {
  const address = '/admin/v1/orgs/:org_id/outcomes';
  const add = <Input extends Schema, Output extends Schema>(
    path: string,
    action: Action<Input, Output, QueuedCall>,
  ): void => {
    router.post(path, noteEffect(action), deps.sessions.required(), async (context) => {
      const { org_id: organisationId = '' } = context.params;
      const admin = await requestContext(context, deps, organisationId);
      // Before the body is read: others must not fill the memory.
      if (!mayActAs(admin.actor.role, action.role))
        throw new AdminError('forbidden', `This needs the role ${action.role}.`);
      if (context.is('text/csv') !== 'text/csv')
        throw new AdminError('invalid_request', 'Send the file as the body: the Content-Type must be text/csv.');
      const input = { ...queryOf(context, action.input), ...context.params };
      const caller = { apiKey: { organisation_id: organisationId } };
      const call = await receiveOutcomes(context, caller, { ...outcomeFiles.deps, timeoutMs: fileTimeoutMs });
      context.body = await answered(fileTimeoutMs, runAction(action, input, admin, call));
    });
  };
  add(address, outcomeFiles.import);
  add(`${address}/preview`, outcomeFiles.preview);
}
