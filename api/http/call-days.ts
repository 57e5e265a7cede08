import type { Middleware } from 'koa';
import { everyTick } from '../../shared/async/ticks.js';
import type { Clock } from '../../shared/contract/dates.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import { type CallDay, type CallDayStore, dayOf, latencyBucket, sumOf } from '../../shared/store/console/call-days.js';

/** A finished call of a known key. */
interface FinishedCall {
  readonly apiKey: ApiKey;
  /** The model and records of a call that was answered with 200. */
  readonly scored: { readonly modelId: string; readonly records: number } | undefined;
  readonly errorCode: string | undefined;
  readonly latencyMs: number;
}

type Counting = { -readonly [Name in keyof Omit<CallDay, '_id'>]-?: Omit<CallDay, '_id'>[Name] } & {
  readonly errors: Record<string, number>;
  readonly latency: Record<string, number>;
};

/** Days of keys and models in memory. MongoDB is away for long when there are more: further ones are not counted. */
const maxDays = 50_000;

/**
 * Counts the calls of a gateway, or the records of a runner, by key, model and UTC day. It stores the counts once a
 * minute.
 */
export class CallDays implements Stoppable {
  readonly name = 'call days';
  private days = new Map<string, Counting>();
  private readonly endWrites: () => void;

  constructor(
    private readonly options: {
      readonly store: Pick<CallDayStore, 'add'>;
      readonly clock: Clock;
      readonly logger: Pick<Logger, 'warn'>;
      readonly writeEveryMs: number;
    },
  ) {
    this.endWrites = everyTick(options.writeEveryMs, () => void this.write());
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
    const counted = this.countsOf(apiKey, scored);
    if (counted === undefined) return;
    counted.calls += 1;
    const bucket = latencyBucket(latencyMs);
    counted.latency[bucket] = (counted.latency[bucket] ?? 0) + 1;
    if (errorCode !== undefined) counted.errors[errorCode] = (counted.errors[errorCode] ?? 0) + 1;
  }

  /** Counts records that a bulk job has scored: no call of the API has them. */
  addRecords(apiKey: ApiKey, scored: NonNullable<FinishedCall['scored']>): void {
    this.countsOf(apiKey, scored);
  }

  /** Stores the counts so far, and keeps what was not stored for the next time. */
  async write(): Promise<void> {
    const written = [...this.days.values()];
    this.days = new Map();
    try {
      this.keep(await this.options.store.add(written));
    } catch (error) {
      this.options.logger.warn({ error }, 'calls by day were not stored: the console shows them later');
      this.keep(written);
    }
  }

  async stop(): Promise<void> {
    this.endWrites();
    await this.write();
  }

  /** The counts of today to which a call adds, with its records. */
  private countsOf(apiKey: ApiKey, scored: FinishedCall['scored']): Counting | undefined {
    const now = new Date(this.options.clock.now());
    const day = dayOf(now.getTime());
    const model = scored?.modelId ?? '';
    const known = this.days.get(idOf({ key: apiKey._id, model, day }));
    const counted = known ?? this.begin(apiKey, { model, day, last_at: now });
    if (counted === undefined) return undefined;
    counted.records += scored?.records ?? 0;
    counted.last_at = now;
    return counted;
  }

  /** Adds counts that were not stored to those that have begun meanwhile. */
  private keep(some: readonly Counting[]): void {
    for (const counted of some) {
      const id = idOf(counted);
      const since = this.days.get(id);
      if (since !== undefined) this.days.set(id, { ...since, ...sumOf([counted, since]) });
      else if (this.days.size < maxDays) this.days.set(id, counted);
    }
  }

  private begin(apiKey: ApiKey, of: Pick<CallDay, 'model' | 'day' | 'last_at'>): Counting | undefined {
    if (this.days.size >= maxDays) return undefined;
    const counted: Counting = {
      ...{ org: apiKey.organisation_id, key: apiKey._id, bucket: apiKey.kind, ...of },
      ...{ calls: 0, records: 0, errors: {}, latency: {} },
    };
    this.days.set(idOf(counted), counted);
    return counted;
  }
}

const idOf = ({ key, model, day }: Pick<CallDay, 'key' | 'model' | 'day'>): string =>
  `${key}:${model}:${day.getTime()}`;
