import type { Context, Middleware } from 'koa';
import type { Actor } from '../../../shared/admin/action.js';
import { AdminError } from '../../../shared/admin/admin-error.js';
import type { Clock } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { Logger } from '../../../shared/process/logger.js';
import { accessHash, type ConsoleAccess, type ConsoleSession } from '../../../shared/store/console/console-access.js';
import type { MemberStore } from '../../../shared/store/console/members.js';
import type { AuthAttempts } from '../../auth/auth-attempts.js';
import type { CallerAddress } from '../../auth/client-ip.js';
import type { RateLimit } from '../../request/rate-limit.js';

export interface SessionDeps {
  readonly access: ConsoleAccess;
  readonly members: MemberStore;
  readonly attempts: AuthAttempts;
  readonly addressOf: CallerAddress;
  readonly rateLimit: RateLimit;
  readonly clock: Clock;
  readonly newRequestSlot: () => string;
  readonly isHttps: boolean;
  readonly logger: Logger;
}

/** Requests that a session may make in any second. */
const ratePerSecond = 20;
const maxSecret = 300;

/**
 * The sessions of browsers, and the tokens of programs. The library koa-session writes a session after a request. A
 * session that was ended meanwhile would return, so this class does without it.
 */
export class Sessions {
  /** `__Host-` binds the cookie to one host and HTTPS. Browsers refuse it over plain HTTP, which only loopback uses. */
  private readonly cookie: string;
  private readonly attemptCookie: string;

  constructor(private readonly deps: SessionDeps) {
    const prefix = deps.isHttps ? '__Host-' : '';
    this.cookie = `${prefix}leadscore_console`;
    this.attemptCookie = `${prefix}leadscore_sign_in`;
  }

  /** Requires a session or a token, and limits its rate. Stores both in the state of the context. */
  required(): Middleware {
    return async (context, next) => {
      const session = await this.find(context);
      if (session === undefined) throw new AdminError('sign_in_required', 'Sign in to the console first.');
      await this.limitRate(session);
      context.state.session = session;
      await next();
    };
  }

  /** Runs a look-up of a secret. Addresses that try many unknown ones wait. */
  async attempt<Found>(context: Context, secret: string, lookUp: () => Promise<Found | undefined>) {
    return await this.deps.attempts.find(context.req, accessHash(secret), lookUp).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
      const { retryAfterSeconds = 1 } = error.options;
      throw new AdminError('rate_limited', 'Too many unknown links or tokens came from this address. Wait a minute.', {
        retryAfterSeconds,
      });
    });
  }

  /** Gives the browser its cookie. */
  setCookie(context: Context, secret: string, { ends_at: endsAt }: ConsoleSession): void {
    this.writeCookie(context, this.cookie, secret, endsAt);
  }

  /** Keeps the secrets of a sign-in by OIDC in the browser until the provider sends it back. */
  setAttempt(context: Context, value: string, forMs: number): void {
    const expires = new Date(this.deps.clock.now() + forMs);
    this.writeCookie(context, this.attemptCookie, Buffer.from(value).toString('base64url'), expires);
  }

  /** Takes these secrets out of the browser. */
  takeAttempt(context: Context): string | undefined {
    const value = context.cookies.get(this.attemptCookie);
    this.writeCookie(context, this.attemptCookie, '', new Date(0));
    return value === undefined ? undefined : Buffer.from(value, 'base64url').toString();
  }

  async end(context: Context): Promise<void> {
    await this.deps.access.end(sessionOf(context)._id);
    this.writeCookie(context, this.cookie, '', new Date(0));
  }

  /**
   * The person of a request. A member of several organisations acts with the role of the one that the request is for.
   * The role is read each time, so that a removal from the other organisation counts at once.
   * @param organisationId of the request, of any type. In an organisation of others the person acts as in the own one.
   */
  async actorOf(context: Context, organisationId: unknown): Promise<Actor> {
    const session = sessionOf(context);
    const { person, role, org, way, member_id: memberId } = session;
    const isOther = typeof organisationId === 'string' && organisationId !== org;
    const [other] =
      isOther && memberId !== undefined ? await this.deps.members.ofAccount(memberId, { organisationId, most: 1 }) : [];
    const membership =
      other === undefined ? { role, organisationId: org } : { role: other.role, organisationId: other.org };
    return { name: person, way, ...membership, address: this.addressOf(context), session };
  }

  addressOf(context: Context): string {
    return this.deps.addressOf(context.req);
  }

  private async find(context: Context): Promise<ConsoleSession | undefined> {
    const { access, clock } = this.deps;
    const now = new Date(clock.now());
    const authorization = context.get('authorization');
    if (authorization !== '') {
      const [, token = ''] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
      if (token === '' || token.length > maxSecret) return undefined;
      const found = await this.attempt(context, token, () => access.find(accessHash(token), now));
      // The secret of a cookie is no token: with a cookie, the origin of each change is checked.
      return found?.way === 'token' ? found : undefined;
    }
    const secret = context.cookies.get(this.cookie);
    if (secret === undefined || secret.length > maxSecret) return undefined;
    const session = await access.find(accessHash(secret), now, this.addressOf(context));
    return session?.way === 'token' ? undefined : session;
  }

  /** Without Redis the console still works: the people who use it are known. */
  private async limitRate({ _id: hash, org = 'console' }: ConsoleSession): Promise<void> {
    const { rateLimit, newRequestSlot, logger } = this.deps;
    const slot = { organisationId: org, keyId: `console:${hash}`, window: 'reading', rate: ratePerSecond } as const;
    const decision = await rateLimit.take({ ...slot, slotId: newRequestSlot() }).catch((error: unknown) => {
      logger.warn({ error }, 'the rate of a session was not checked, because Redis did not answer');
    });
    if (decision?.accepted !== false) return;
    const message = `More than ${ratePerSecond} requests within a second. Wait a moment.`;
    throw new AdminError('rate_limited', message, {
      retryAfterSeconds: Math.max(1, Math.ceil(decision.retryAfterMs / 1000)),
    });
  }

  private writeCookie(context: Context, name: string, value: string, expires: Date | undefined): void {
    const { isHttps } = this.deps;
    // Behind a balancer that ends TLS the connection is plain, and Koa would refuse a secure cookie.
    context.cookies.secure = isHttps;
    context.cookies.set(name, value, {
      ...{ httpOnly: true, secure: isHttps, sameSite: 'lax', path: '/', signed: false, overwrite: true },
      ...(expires === undefined ? {} : { expires }),
    });
  }
}

/** The session of a request that has passed `required`. */
export const sessionOf = (context: Context): ConsoleSession => context.state.session as ConsoleSession;
