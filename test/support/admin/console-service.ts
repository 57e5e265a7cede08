import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceProcess, startService } from '../../../scripts/servers/service-process.js';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createLink, createToken } from '../../../shared/admin/people/access-actions.js';
import type { Role } from '../../../shared/contract/roles.js';
import { type AdminDesk, adminDesk } from './admin-desk.js';

/** Operations of the sign-in, which are no actions. */
export const isOfSession = /^session\.(ways|preview|begin|show|end|oidc|oidc_callback)$/;

/** A reply of the console. */
export interface ConsoleReply {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when it is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Options of a call of the console. */
interface ConsoleCall {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A way to call the console as one browser or program. */
export type Caller = (method: string, path: string, call?: ConsoleCall) => Promise<ConsoleReply>;

/** Sends a call again while the rate of its session refuses it, because a test calls faster than a person. */
const patient =
  (caller: Caller): Caller =>
  async (...call) => {
    for (;;) {
      const reply = await caller(...call);
      // The reply to HEAD has no body, and its only 429 is that of the rate.
      const code = call[0] === 'HEAD' ? '' : (reply.body.error as { code?: string } | undefined)?.code;
      if (reply.status !== 429 || (code !== '' && code !== 'rate_limited')) return reply;
      await pause(1_000 * Number(reply.headers.get('retry-after')));
    }
  };

/** A console as a separate process, on fresh databases. */
export interface ConsoleService extends AdminDesk {
  readonly url: string;
  /** Calls without any session. */
  readonly anyone: Caller;
  /** The secret of a new one-time link. */
  newLink(role: Role, organisationId?: string): Promise<string>;
  /** Signs in by a link, and returns the calls of that browser, which wait while its rate refuses them. */
  signIn(role: Role, organisationId?: string): Promise<Caller & { readonly cookie: string }>;
  /** The calls of a program with a token of the operator. */
  program(): Promise<Caller>;
  newOrganisation(name?: string): Promise<string>;
}

/** Starts one worker on the databases of a console. */
export const startPool = ({ redisUrl, mongoUrl }: AdminDesk): Promise<ServiceProcess> =>
  startService({
    kind: 'worker',
    log: 'ignore',
    environment: {
      ...{ REDIS_URL: redisUrl, MONGODB_URL: mongoUrl },
      ...{ WORKERS: '1', WORKER_ADMIN_PORT: '0', TEST_TIMINGS_PERCENT: '5' },
    },
  });

/** Starts a gateway on the databases of a console. */
export const startGateway = ({ redisUrl, mongoUrl }: AdminDesk): Promise<ServiceProcess> =>
  startService({
    kind: 'gateway',
    log: 'ignore',
    environment: {
      ...{ REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' },
      ...{ PORT: '0', ADMIN_PORT: '0', HOST: undefined, BASE_URL: undefined, TEST_TIMINGS_PERCENT: '5' },
    },
  });

const sameOrigin = { 'sec-fetch-site': 'same-origin' };

/** Starts a console. Its log goes nowhere, unless a descriptor is given. */
export async function consoleService(
  environment: Readonly<Record<string, string>> = {},
  log: 'ignore' | number = 'ignore',
): Promise<ConsoleService> {
  const desk = await adminDesk();
  const service = await startService({
    kind: 'console',
    log,
    environment: {
      ...{ REDIS_URL: desk.redisUrl, MONGODB_URL: desk.mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' },
      ...{ CONSOLE_PORT: '0', CONSOLE_URL: undefined, HOST: undefined, TEST_TIMINGS_PERCENT: '5', ...environment },
    },
  });
  const url = service.url ?? '';
  const call =
    (own: Readonly<Record<string, string>>): Caller =>
    async (method, path, { body, headers = {} } = {}) => {
      const isJson = body !== undefined && !(body instanceof Uint8Array) && typeof body !== 'string';
      const reply = await fetch(`${url}${path}`, {
        method,
        redirect: 'manual',
        headers: { ...own, ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
        ...(body === undefined
          ? {}
          : { body: isJson ? JSON.stringify(body) : (body as string | Uint8Array<ArrayBuffer>) }),
      });
      const text = await reply.text();
      const hasJson = reply.headers.get('content-type')?.startsWith('application/json') === true;
      return {
        status: reply.status,
        headers: reply.headers,
        body: hasJson && text !== '' ? JSON.parse(text) : { text },
      };
    };
  const newLink = async (role: Role, organisationId?: string) => {
    const organisation = organisationId === undefined ? {} : { org_id: organisationId };
    return (await desk.act(createLink, { ...organisation, name: 'Ada', role })).url.split('#')[1] ?? '';
  };
  return {
    ...desk,
    url,
    anyone: call(sameOrigin),
    newLink,
    signIn: async (role, organisationId) => {
      const link = await newLink(role, organisationId);
      const reply = await call(sameOrigin)('POST', '/admin/v1/session', { body: { link } });
      const cookie = (reply.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      return Object.assign(patient(call({ ...sameOrigin, cookie })), { cookie });
    },
    program: async () => {
      const { secret } = await desk.act(createToken, { name: 'a program' });
      return call({ authorization: `Bearer ${secret}` });
    },
    newOrganisation: async (name = 'Acme') => (await desk.act(createOrganisation, { name, plan: 'pro' })).org_id,
    leave: async () => {
      await service.stop();
      await desk.leave();
    },
  };
}
