import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { AdminContext } from '../../../shared/admin/action.js';
import type { ActionRoute } from '../../../shared/admin/actions.js';
import { AdminError } from '../../../shared/admin/admin-error.js';
import { runAction } from '../../../shared/admin/run-action.js';
import type { Schema } from '../../../shared/contract/schema.js';
import { bodyOf, jsonBody } from '../http/json.js';
import type { Sessions } from '../http/sessions.js';

/** The surroundings of the console's actions, without those that each request brings. */
export type ConsoleContext = Omit<AdminContext, 'actor' | 'requestId'>;

export interface ActionRoutesDeps {
  readonly routes: readonly ActionRoute[];
  readonly sessions: Sessions;
  readonly admin: ConsoleContext;
}

/** Adds a route for each action. Members of the input come from the path, then from the query or the body. */
export function addActionRoutes(router: Router, { routes, sessions, admin }: ActionRoutesDeps): void {
  const signedIn = sessions.required();
  for (const { method, path, action } of routes)
    router[method](`/admin/v1${path}`, noteEffect(action), signedIn, jsonBody(), async (context) => {
      const given = method === 'get' || method === 'delete' ? queryOf(context, action.input) : bodyOf(context);
      const input: Readonly<Record<string, unknown>> = { ...given, ...context.params };
      context.body = await runAction(action, input, await requestContext(context, { sessions, admin }, input.org_id));
    });
}

/** Notes for the reply to a failure, also to one of the sign-in, what the failed action may have changed. */
export const noteEffect =
  ({ effect }: Pick<ActionRoute['action'], 'effect'>): Middleware =>
  (context, next) => {
    context.state.effect = effect;
    return next();
  };

/**
 * The surroundings of an action of one request.
 * @param organisationId the organisation that the request is for, of any type
 */
export const requestContext = async (
  context: Context,
  { sessions, admin }: Pick<ActionRoutesDeps, 'sessions' | 'admin'>,
  organisationId: unknown,
): Promise<AdminContext> => ({
  ...admin,
  actor: await sessions.actorOf(context, organisationId),
  requestId: String(context.state.requestId),
});

/**
 * The parameters of the query. Numbers and flags are read by the schema of the action.
 * @throws AdminError invalid_request for a repeated one
 */
export function queryOf(context: Context, { properties }: Schema): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, text] of new URLSearchParams(context.querystring)) {
    if (Object.hasOwn(input, name))
      throw new AdminError('invalid_request', `${name} must come once in the address.`, { member: name });
    Object.defineProperty(input, name, { value: readAs(text, typeOf(properties, name)), enumerable: true });
  }
  return input;
}

function typeOf(properties: unknown, name: string): unknown {
  if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, name)) return undefined;
  const schema: unknown = Reflect.get(properties, name);
  return typeof schema === 'object' && schema !== null && 'type' in schema ? schema.type : undefined;
}

function readAs(text: string, type: unknown): unknown {
  if (type === 'integer' && /^\d{1,15}$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
