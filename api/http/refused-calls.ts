import type { Context } from 'koa';
import { everyTick } from '../../shared/async/ticks.js';
import type { Clock } from '../../shared/contract/dates.js';
import { mostRefusedCalls, type RefusedCall } from '../../shared/messages/refused-calls.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';

/** Refused calls in memory, of all organisations. Further ones are not listed, such as those of a flood. */
const mostPending = 5_000;

interface NotedState {
  /** The key of a call that scores or creates a job. */
  readonly apiKey?: ApiKey;
  /** The key of any other call. */
  readonly readingKey?: ApiKey;
  readonly requestId?: string;
}

/** Collects the refused calls of a gateway by organisation, and adds them to the lists once a second. */
export class RefusedCalls implements Stoppable {
  readonly name = 'refused calls';
  private pending = new Map<string, RefusedCall[]>();
  private count = 0;
  private writing: Promise<void> | undefined;
  private readonly endWrites: () => void;

  constructor(
    private readonly options: {
      readonly add: (organisationId: string, calls: readonly RefusedCall[]) => Promise<void>;
      readonly clock: Clock;
      readonly logger: Pick<Logger, 'warn'>;
      readonly writeEveryMs: number;
    },
  ) {
    this.endWrites = everyTick(options.writeEveryMs, () => {
      if (this.count === 0) return;
      this.writing ??= this.write().finally(() => {
        this.writing = undefined;
      });
    });
  }

  /** Notes a call that is answered with an error, if its key is known. Calls that are answered cost nothing. */
  noteReply(context: Context, code: string): void {
    const { apiKey, readingKey = apiKey, requestId }: NotedState = context.state;
    if (readingKey === undefined) return;
    const { _id: keyId, organisation_id: organisationId } = readingKey;
    const route = `${context.method} ${context._matchedRoute ?? ''}`;
    const atMs = this.options.clock.now();
    this.note(organisationId, { atMs, keyId, code, status: context.status, route, requestId: String(requestId) });
  }

  note(organisationId: string, call: RefusedCall): void {
    const own = this.pending.get(organisationId) ?? [];
    if (own.length >= mostRefusedCalls) own.shift();
    else if (this.count >= mostPending) return;
    else this.count += 1;
    own.push(call);
    this.pending.set(organisationId, own);
  }

  /** Adds the calls so far. Calls that Redis does not take are lost: they are no truth of metering. */
  async write(): Promise<void> {
    const written = [...this.pending];
    this.pending = new Map();
    this.count = 0;
    try {
      await Promise.all(written.map(([organisationId, calls]) => this.options.add(organisationId, calls)));
    } catch (error) {
      this.options.logger.warn({ error }, 'refused calls were not listed: the console lacks some');
    }
  }

  async stop(): Promise<void> {
    this.endWrites();
    await this.writing;
    await this.write();
  }
}
