import { dayNumber, dayText } from '../../contract/dates.js';
import type { KnownFields } from '../../messages/field-slots.js';
import { maxReportedValues } from '../../messages/score-job.js';
import type { ValueCount } from './field-days.js';
import { type FieldDay, type FieldDayStore, maxCoverageDays, type SlotDay, type VersionOwner } from './field-days.js';

/** How one field of some records was read, in records. */
interface FieldCounts {
  /** The field was sent with a value. */
  readonly sent: number;
  /** The field was not sent, or without a value, and no earlier prediction filled it in. */
  readonly missing: number;
  readonly filled: number;
  readonly unread: number;
  readonly unseen: number;
}

export interface FieldCoverage extends FieldCounts {
  readonly field: string;
  /** One entry for each of the days. */
  readonly by_day: readonly ({ readonly day: string } & FieldCounts)[];
  /** The commonest, at most 20. A value that is rare on a day may be left out of its count. */
  readonly unseen_values: readonly ValueCount[];
}

/** How the fields of a version were read on some days, oldest day first. */
export interface Coverage {
  readonly days: readonly { readonly day: string; readonly records: number }[];
  /** In the order of the model. A name comes twice if features give it different aliases. */
  readonly fields: readonly FieldCoverage[];
}

/**
 * Counts of a field and a day in one reply. A model may have thousands of fields, and a reply of megabytes delays other
 * calls.
 */
const maxCells = 20_000;

/** The days of a coverage for which no number is asked, unless the model has too many fields for them. */
export const usualCoverageDays = 7;

/** The days that one coverage of a model may have. */
export const maxDaysOf = ({ scoredSlotCount }: Pick<KnownFields, 'scoredSlotCount'>): number =>
  Math.max(1, Math.min(maxCoverageDays, Math.floor(maxCells / Math.max(1, scoredSlotCount))));

/**
 * Reads how the fields of a version were read on the last days, today included.
 * @throws the driver's error
 */
export async function readCoverage(
  store: Pick<FieldDayStore, 'days'>,
  owner: VersionOwner,
  { knownFields, days, nowMs }: { readonly knownFields: KnownFields; readonly days: number; readonly nowMs: number },
): Promise<Coverage> {
  const today = dayNumber(nowMs);
  const texts = Array.from({ length: days }, (_, index) => dayText(today - days + 1 + index));
  const values = new ValueSums();
  const byDay = new Map<string, FieldDay>();
  for await (const found of store.days(owner, texts)) {
    byDay.set(found.day, withoutValues(found, values));
  }
  const recordsOf = (day: string): number => byDay.get(day)?.records ?? 0;
  const fields = knownFields.slotNames.slice(0, knownFields.scoredSlotCount).map((field, slot): FieldCoverage => {
    const ofDays = texts.map((day) => ({ day, ...countsOf(byDay.get(day)?.fields?.[slot], recordsOf(day)) }));
    return { field, ...total(ofDays), by_day: ofDays, unseen_values: values.of(slot) };
  });
  return { days: texts.map((day) => ({ day, records: recordsOf(day) })), fields };
}

function countsOf({ missing = 0, filled = 0, unread = 0, unseen = 0 }: SlotDay = {}, records: number): FieldCounts {
  return { sent: Math.max(0, records - missing - filled), missing, filled, unread, unseen };
}

function total(days: readonly FieldCounts[]): FieldCounts {
  const sumOf = (count: keyof FieldCounts): number => days.reduce((sum, day) => sum + day[count], 0);
  const [sent, missing, filled] = [sumOf('sent'), sumOf('missing'), sumOf('filled')];
  return { sent, missing, filled, unread: sumOf('unread'), unseen: sumOf('unseen') };
}

/** The unseen values of several days, by slot. */
class ValueSums {
  private readonly bySlot = new Map<string, Map<string, number>>();

  add(slot: string, counts: readonly ValueCount[]): void {
    const sums = this.bySlot.get(slot) ?? new Map<string, number>();
    this.bySlot.set(slot, sums);
    for (const { value, records } of counts) sums.set(value, (sums.get(value) ?? 0) + records);
  }

  /** The commonest values of a slot. */
  of(slot: number): ValueCount[] {
    const sums = [...(this.bySlot.get(String(slot)) ?? [])].map(([value, records]) => ({ value, records }));
    return sums.sort((one, other) => other.records - one.records).slice(0, maxReportedValues);
  }
}

/** A day whose values were added to the sums: the values of ninety days need not be in memory at once. */
function withoutValues(day: FieldDay, sums: ValueSums): FieldDay {
  const fields = Object.entries(day.fields ?? {}).map(([slot, { values = [], ...counts }]) => {
    if (values.length > 0) sums.add(slot, values);
    return [slot, counts] as const;
  });
  return { ...day, fields: Object.fromEntries(fields) };
}
