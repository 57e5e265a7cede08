import { randomUUID } from 'node:crypto';
import type { Action, AdminContext, RecordedChange } from '../../../shared/admin/action.js';
import { AdminError } from '../../../shared/admin/admin-error.js';
import type { Schema, ShapeOf } from '../../../shared/contract/schema.js';
import { leaseMsOf } from '../../../shared/quota/leases.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import type { CliContext } from './cli-context.js';
import { CliError, usageError } from './cli-error.js';
import { redisProblem } from './connections.js';
import { operatorName } from './operator.js';

/**
 * Does an action of the console as the operator who runs the command.
 * @param material see `Action`
 * @throws CliError that names options and commands of the command line
 */
export async function perform<Input extends Schema, Output extends Schema, Material, Prepared>(
  context: CliContext,
  action: Action<Input, Output, Material, Prepared>,
  input: ShapeOf<Input>,
  ...material: Material extends undefined ? [] : [material: Material]
): Promise<ShapeOf<Output>> {
  // Imported here: commands that fail on their arguments need no validator.
  const { runAction } = await import('../../../shared/admin/run-action.js');
  const admin = await adminContext(context, action.effect);
  return await runAction(action, input, admin, ...material).catch((error: unknown) => {
    throw error instanceof AdminError ? asCliError(error) : error;
  });
}

/**
 * Appends an entry of a command that is no action of the console.
 * @param name as those of actions, such as `schema.migrate`
 * @param database of a command that runs on a database which this release cannot use yet
 */
export async function recordCommand(
  context: CliContext,
  name: string,
  change: RecordedChange,
  database?: Db,
): Promise<void> {
  const { recordChange } = await import('../../../shared/admin/run-action.js');
  await recordChange(name, change, await adminContext(context, 'change', database));
}

async function adminContext(
  { config, clock, connections, stderr }: CliContext,
  effect: Action<Schema, Schema>['effect'],
  given?: Db,
): Promise<AdminContext> {
  const database = given ?? (await (effect === 'read' ? connections.database() : connections.preparedDatabase()));
  return {
    client: await connections.client(),
    database,
    clock,
    actor: {
      name: operatorName(),
      way: 'command line',
      role: 'operator',
      organisationId: undefined,
      address: undefined,
    },
    requestId: randomUUID(),
    redis: () => connections.redis(),
    keySettings: async () => ({
      brand: config.keyBrand,
      pepper: await connections.keyPepper(),
      previousPepper: config.keyPepperPrevious,
    }),
    leaseMs: leaseMsOf(config),
    auditsReads: config.auditsReads,
    consoleUrl: config.consoleUrl,
    apiUrl: config.baseUrl ?? `http://localhost:${config.port}`,
    notAnnounced: (error) => {
      stderr.write(`Warning: ${redisProblem(error)}; running gateways apply the change within 5 seconds.\n`);
    },
  };
}

/** The option of an input member whose name differs from it. */
const optionOf: Readonly<Record<string, string>> = { trial_ends_at: '--trial-ends', expires_at: '--expires' };
const remedies: Readonly<Record<string, string>> = {
  limit: '. Add --plan trial, pro or enterprise',
  too_many_models: ': npx leadscore model delete MODEL',
  too_many_versions: ', without --model',
  would_block: ': --override with --reason REASON',
  needs_force: ': --force with --reason REASON',
  being_deleted: ': npx leadscore org undelete ORG',
  changed_meanwhile: ': npx leadscore model show MODEL',
};
const listedBy = { organisation: 'org list', key: 'key list ORG', model: 'model list ORG' } as const;

/** An AdminError in the words of the command line. */
export function asCliError({ code, message, options }: AdminError): CliError {
  const { member, missing, stored, hasCandidate } = options;
  if (missing !== undefined) return new CliError(`${message}. See: npx leadscore ${listedBy[missing]}`, { code });
  if (stored !== undefined)
    return new CliError(`${message}: --model ${stored.model_id} with --candidate or --serve, or --new`, {
      code,
      details: stored,
    });
  if (hasCandidate !== undefined)
    return new CliError(`${message}: npx leadscore model candidate ${hasCandidate} --drop`, { code });
  if (code === 'invalid_request' && member !== undefined) {
    const option = optionOf[member] ?? `--${member.replaceAll('_', '-')}`;
    return usageError(`${option}${message.slice(member.length)}${remedies[member] ?? ''}`);
  }
  return new CliError(`${message}${remedies[code] ?? ''}`, { code });
}
