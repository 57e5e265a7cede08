import type { Middleware } from 'koa';
import type { Clock } from '../../shared/contract/dates.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import {
  type CallHour,
  type CallHourStore,
  hourOf,
  latencyBucket,
  sumOf,
} from '../../shared/store/console/call-hours.js';

/** A finished call of a known key. */
interface FinishedCall {
  readonly apiKey: ApiKey;
  /** The model and records of a call that was answered with 200. */
  readonly scored: { readonly modelId: string; readonly records: number } | undefined;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
}

type Counting = { -readonly [Name in keyof Omit<CallHour, '_id'>]-?: Omit<CallHour, '_id'>[Name] } & {
  readonly errors: Record<string, number>;
  readonly latency: Record<string, number>;
};

const writeEveryMs = 60_000;
/** Hours in memory. MongoDB is away for long when there are more: further ones are not counted. */
const maxHours = 50_000;

/** Counts the calls of this gateway by key, model and hour, and stores the counts once a minute. */
export class CallHours implements Stoppable {
  readonly name = 'call hours';
  private hours = new Map<string, Counting>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly options: {
      readonly store: Pick<CallHourStore, 'add'>;
      readonly clock: Clock;
      readonly logger: Pick<Logger, 'warn'>;
    },
  ) {
    this.timer = setInterval(() => void this.write(), writeEveryMs).unref();
  }

  /** Counts each call whose key is known: routes store the key and the scored records in the state of their context. */
  middleware(): Middleware {
    return async (context, next) => {
      const startMs = performance.now();
      await next();
      const { apiKey, scored, errorCode } = context.state as Partial<FinishedCall>;
      if (apiKey === undefined) return;
      const isScored = context.status === 200 ? scored : undefined;
      this.count({ apiKey, scored: isScored, errorCode, latencyMs: performance.now() - startMs });
    };
  }

  count({ apiKey, scored, errorCode, latencyMs }: FinishedCall): void {
    const now = new Date(this.options.clock.now());
    const hour = hourOf(now.getTime());
    const model = scored?.modelId ?? '';
    const id = `${apiKey._id}:${model}:${hour.getTime()}`;
    const counted = this.hours.get(id) ?? this.begin(id, { apiKey, model, hour, now });
    if (counted === undefined) return;
    counted.calls += 1;
    counted.records += scored?.records ?? 0;
    counted.last_at = now;
    const bucket = latencyBucket(latencyMs);
    counted.latency[bucket] = (counted.latency[bucket] ?? 0) + 1;
    if (errorCode !== undefined) counted.errors[errorCode] = (counted.errors[errorCode] ?? 0) + 1;
  }

  /** Stores the counts so far. After a failure they are kept for the next time. */
  async write(): Promise<void> {
    const written = this.hours;
    if (written.size === 0) return;
    this.hours = new Map();
    await this.options.store.add([...written.values()]).catch((error: unknown) => {
      this.options.logger.warn({ error }, 'calls by hour were not stored: the console shows them later');
      this.keep(written);
    });
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  /** Adds counts that were not stored to those that have begun meanwhile. */
  private keep(written: ReadonlyMap<string, Counting>): void {
    for (const [id, counted] of written) {
      const since = this.hours.get(id);
      if (since !== undefined) this.hours.set(id, { ...since, ...sumOf([counted, since]) });
      else if (this.hours.size < maxHours) this.hours.set(id, counted);
    }
  }

  private begin(
    id: string,
    { apiKey, model, hour, now }: { apiKey: ApiKey; model: string; hour: Date; now: Date },
  ): Counting | undefined {
    if (this.hours.size >= maxHours) return undefined;
    const counted: Counting = {
      ...{ org: apiKey.organisation_id, key: apiKey._id, bucket: apiKey.kind, model, hour },
      ...{ calls: 0, records: 0, errors: {}, latency: {}, last_at: now },
    };
    this.hours.set(id, counted);
    return counted;
  }
}
