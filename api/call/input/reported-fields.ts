import type { DateOrder } from '../../../shared/bundle/expected-values.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import { type FieldReadings, type ReadingKind, readingKinds } from '../../../shared/messages/score-job.js';
import { SimilarFields } from '../../../shared/messages/similar-fields.js';
import type { AdmittedModel } from '../scoring-call.js';

/** How often a field was read in a way that needs attention. */
export type KindCounts = Readonly<Record<ReadingKind, number>>;

/** The reading of a field of one record, if it needs attention. */
export interface FieldReading {
  readonly isFilled: boolean;
  /** Undefined for a value that was read, and known. */
  readonly kind: Exclude<ReadingKind, 'filled'> | undefined;
  /** The unread, unseen or ambiguous value; else empty. */
  readonly value: string;
}

/** The kinds from the best to the worst. */
const kindsByRank = ['ambiguous', 'unseen', 'unread', 'missing'] as const;

/**
 * The fields of a model that features read, with their slots. A field that features read under different aliases has
 * several slots. The best reading of them stands for the field.
 */
export class ReportedFields {
  readonly names: readonly string[];
  /** A description of the expected value of each field. */
  readonly expected: readonly string[];
  /** The order of day and month of each field that is a date with slashes. */
  readonly dateOrders: readonly (DateOrder | undefined)[];
  readonly similar: SimilarFields;
  private readonly fieldOfSlot: readonly number[];
  private readonly slotsOfField: readonly number[];

  private constructor(modelKey: string, known: KnownFields) {
    const { slotNames, slotAliases, slotExpectations, slotDateOrders, scoredSlotCount } = known;
    const scored = slotNames.slice(0, scoredSlotCount);
    this.names = [...new Set(scored)];
    const fieldOf = new Map(this.names.map((name, field) => [name, field]));
    this.fieldOfSlot = scored.map((name) => fieldOf.get(name) ?? 0);
    const slotsOf = new Map<string, number[]>();
    for (const [slot, name] of scored.entries()) slotsOf.set(name, [...(slotsOf.get(name) ?? []), slot]);
    this.slotsOfField = this.names.map((name) => slotsOf.get(name)?.length ?? 0);
    this.expected = this.names.map((name) => slotExpectations[slotsOf.get(name)?.[0] ?? -1] ?? 'another value');
    this.dateOrders = this.names.map((name) =>
      (slotsOf.get(name) ?? []).map((slot) => slotDateOrders[slot]).find((order) => order !== undefined),
    );
    this.similar = SimilarFields.among({ slotNames: scored, slotAliases }, modelKey);
  }

  private static readonly known = new WeakMap<KnownFields, ReportedFields>();

  /** The fields of a version, compiled once. */
  static of({ id, version, knownFields }: AdmittedModel): ReportedFields {
    const known = ReportedFields.known.get(knownFields) ?? new ReportedFields(`${id}:${version}`, knownFields);
    ReportedFields.known.set(knownFields, known);
    return known;
  }

  /** The counts of each field over the parts of a call. The slot that was read best stands for its field. */
  counts(parts: readonly FieldReadings[]): KindCounts[] {
    const kinds = readingKinds.length;
    const sums = new Uint32Array(this.fieldOfSlot.length * kinds);
    for (const { counts } of parts)
      for (let at = 0; at + 2 < counts.length; at += 3) {
        const index = (counts[at] ?? 0) * kinds + (counts[at + 1] ?? 0);
        sums[index] = (sums[index] ?? 0) + (counts[at + 2] ?? 0);
      }
    const ofSlots = this.fieldOfSlot.map((_, slot) => {
      const ofKind = (kind: ReadingKind): number => sums[slot * kinds + readingKinds.indexOf(kind)] ?? 0;
      return {
        missing: ofKind('missing'),
        unread: ofKind('unread'),
        unseen: ofKind('unseen'),
        filled: ofKind('filled'),
        ambiguous: ofKind('ambiguous'),
      };
    });
    const best: KindCounts[] = [];
    for (const [slot, counts] of ofSlots.entries()) {
      const field = this.fieldOfSlot[slot] ?? 0;
      const other = best[field];
      if (other === undefined || isBetter(counts, other)) best[field] = counts;
    }
    return best;
  }

  /** The unread and unseen values of each field with the number of their records, the most frequent first. */
  values(parts: readonly FieldReadings[]): ReadonlyMap<number, readonly string[]> {
    const found = new Map<number, Map<string, number>>();
    for (const { values } of parts)
      for (const [slot, , value, records] of values) {
        const field = this.fieldOfSlot[slot] ?? 0;
        const ofField = found.get(field) ?? new Map<string, number>();
        found.set(field, ofField.set(value, (ofField.get(value) ?? 0) + records));
      }
    const byCount = (values: ReadonlyMap<string, number>): string[] =>
      [...values].sort(([, one], [, other]) => other - one).map(([value]) => value);
    return new Map([...found].map(([field, values]) => [field, byCount(values)]));
  }

  /** The readings of one record that need attention, by field. */
  ofRecord(flat: readonly (number | string)[]): ReadonlyMap<number, FieldReading> {
    const readings = new Map<number, FieldReading & { readonly slots: number }>();
    for (let at = 0; at + 2 < flat.length; at += 3) {
      const field = this.fieldOfSlot[Number(flat[at])] ?? 0;
      const kind = readingKinds[Number(flat[at + 1])];
      const before = readings.get(field) ?? { isFilled: false, kind: undefined, value: '', slots: 0 };
      if (kind === undefined) continue;
      if (kind === 'filled') readings.set(field, { ...before, isFilled: true });
      else if (before.kind !== undefined && kindsByRank.indexOf(before.kind) <= kindsByRank.indexOf(kind))
        readings.set(field, { ...before, slots: before.slots + 1 });
      else readings.set(field, { ...before, kind, value: String(flat[at + 2]), slots: before.slots + 1 });
    }
    for (const [field, reading] of readings) {
      // Another slot of the field was read.
      if (reading.kind === undefined || reading.slots === this.slotsOfField[field]) continue;
      if (reading.isFilled) readings.set(field, { ...reading, kind: undefined, value: '' });
      else readings.delete(field);
    }
    return readings;
  }
}

const unsentIn = ({ missing, filled }: KindCounts): number => missing + filled;

const isBetter = (one: KindCounts, other: KindCounts): boolean =>
  unsentIn(one) === unsentIn(other) ? one.unread < other.unread : unsentIn(one) < unsentIn(other);
