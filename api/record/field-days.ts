import { everyTick } from '../../shared/async/ticks.js';
import { dayNumber } from '../../shared/contract/dates.js';
import { type FieldReadings, maxReportedValues, readingKinds } from '../../shared/messages/score-job.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import { type FieldDayStore, type FieldSums, maxSlotsWithValues } from '../../shared/store/models/field-days.js';
import type { ScoredCall } from './documents.js';

/** The parts of a recorded call that are summed up. */
type RecordedCall = Pick<ScoredCall, 'call' | 'model' | 'rows'>;

export interface FieldDaysOptions {
  readonly store: Pick<FieldDayStore, 'add'>;
  readonly writeEveryMs: number;
  readonly retentionDays: number;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Slots and values in memory, some hundred bytes each, at which the sums are written early. */
const writeAtEntries = 50_000;
/** MongoDB does not take the sums for long when there are more: further records are not counted. */
const maxEntries = 100_000;

/** Sums of one write. Writing the update of a day takes a gateway up to 8 ms. */
const sumsAtOnce = 10;

const [unseen, ambiguous] = [readingKinds.indexOf('unseen'), readingKinds.indexOf('ambiguous')];

/**
 * Sums up how the fields of recorded calls of live keys were read, by version and UTC day, and stores the sums once a
 * minute. A process that is killed loses those of its last minute.
 */
export class FieldDays implements Stoppable {
  readonly name = 'field days';
  private sums = new Map<string, FieldSums>();
  private entries = 0;
  private uncounted = 0;
  private hasFailed = false;
  private writing: Promise<void> | undefined;
  private readonly endWrites: () => void;

  constructor(private readonly options: FieldDaysOptions) {
    this.endWrites = everyTick(options.writeEveryMs, () => void this.write());
  }

  /** Adds a call that was recorded. */
  add({ call, model, rows }: RecordedCall): void {
    if (call.bucket !== 'live') return;
    if (this.entries >= maxEntries) {
      this.uncounted += call.records.length;
      return;
    }
    const of = { org: call.apiKey.organisation_id, model: model.id, version: model.version };
    const sums = this.sumsOf({ ...of, day: dayNumber(call.atMs) });
    sums.records += call.records.length;
    for (const { readings } of rows.parts) this.entries += addReadings(sums, readings);
    // After a failure the timer alone tries again.
    if (this.entries >= writeAtEntries && !this.hasFailed) void this.write();
  }

  /** Stores the sums so far. It keeps what was not stored for the next time. */
  write(): Promise<void> {
    this.writing ??= this.writeNow().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  async stop(): Promise<void> {
    this.endWrites();
    await this.writing;
    await this.write();
  }

  private async writeNow(): Promise<void> {
    const written = [...this.sums.values()];
    if (written.length === 0) return;
    this.sums = new Map();
    this.entries = 0;
    const { logger } = this.options;
    this.hasFailed = false;
    for (let first = 0; first < written.length; first += sumsAtOnce) {
      const group = written.slice(first, first + sumsAtOnce);
      // MongoDB that did not take one group is not asked to take the others.
      const failed = this.hasFailed ? group : await this.refused(group);
      for (const sums of failed) this.keep(sums);
    }
    if (this.uncounted === 0) return;
    logger.warn(
      { records: this.uncounted },
      'the coverage of fields by day lacks records: MongoDB did not take the sums',
    );
    this.uncounted = 0;
  }

  /** Stores sums. Returns those that were not stored. */
  private async refused(sums: readonly FieldSums[]): Promise<readonly FieldSums[]> {
    const { store, retentionDays, logger } = this.options;
    try {
      const refused = await store.add(sums, retentionDays);
      if (refused.length > 0)
        logger.warn(
          { days: refused.length },
          'the coverage of fields was not stored for some days, and is written again',
        );
      return refused;
    } catch (error) {
      this.hasFailed = true;
      logger.warn({ error }, 'the coverage of fields by day was not stored, and is written again in a minute');
      return sums;
    }
  }

  /** Adds sums that were not stored to those that have begun meanwhile. */
  private keep(kept: FieldSums): void {
    if (this.entries >= maxEntries) {
      this.uncounted += kept.records;
      return;
    }
    const sums = this.sumsOf(kept);
    sums.records += kept.records;
    for (const [slot, counts] of kept.counts)
      for (const [kind, count] of counts.entries()) this.entries += addCount(sums, slot, kind, count);
    for (const [slot, values] of kept.values)
      for (const [value, records] of values) this.entries += addValue(sums, slot, value, records);
  }

  private sumsOf({ org, model, version, day }: Pick<FieldSums, 'org' | 'model' | 'version' | 'day'>): FieldSums {
    const key = `${model}:${version}:${day}`;
    const known = this.sums.get(key);
    if (known !== undefined) return known;
    const sums = { org, model, version, day, records: 0, counts: new Map(), values: new Map() };
    this.sums.set(key, sums);
    this.entries += 1;
    return sums;
  }
}

/** Adds the readings of a part. Returns the number of new entries. */
function addReadings(sums: FieldSums, { counts, values }: FieldReadings): number {
  let entries = 0;
  for (let at = 0; at + 2 < counts.length; at += 3)
    if (counts[at + 1] !== ambiguous)
      entries += addCount(sums, counts[at] ?? 0, counts[at + 1] ?? 0, counts[at + 2] ?? 0);
  for (const [slot, kind, value, records] of values)
    if (kind === unseen) entries += addValue(sums, slot, value, records);
  return entries;
}

function addCount({ counts }: FieldSums, slot: number, kind: number, count: number): number {
  const known = counts.get(slot);
  const ofSlot = known ?? readingKinds.map(() => 0);
  ofSlot[kind] = (ofSlot[kind] ?? 0) + count;
  if (known !== undefined) return 0;
  counts.set(slot, ofSlot);
  return 1;
}

function addValue({ values }: FieldSums, slot: number, value: string, records: number): number {
  if (slot >= maxSlotsWithValues) return 0;
  const ofSlot = values.get(slot) ?? new Map<string, number>();
  const known = ofSlot.get(value);
  if (known === undefined && ofSlot.size >= maxReportedValues) return 0;
  if (ofSlot.size === 0) values.set(slot, ofSlot);
  ofSlot.set(value, (known ?? 0) + records);
  return known === undefined ? 1 : 0;
}
