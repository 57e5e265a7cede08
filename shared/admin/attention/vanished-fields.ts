import { dayMs, dayNumber, dayText } from '../../contract/dates.js';
import { compileKnownFields } from '../../messages/field-slots.js';
import { CallDayStore, dayOf } from '../../store/console/call-days.js';
import { type DayGaps, FieldDayStore } from '../../store/models/field-days.js';
import { loadManifest } from '../../store/models/model-versions.js';
import type { Model } from '../../store/models/models.js';
import type { ActionContext } from '../action.js';
import { dropIn, type FieldDrop } from '../models/field-attention.js';

const daysRead = 7;
/** The models with the most records of these days. Each has at most seven documents. */
const mostModels = 20;

interface SlotDrop {
  readonly model: Model;
  readonly slot: number;
  readonly drop: FieldDrop;
}

/**
 * The fields that the calls of live models had, and then mostly lacked, the largest drop first.
 * @param most with names; `count` counts all
 */
export async function vanishedFields(
  { database, clock }: Pick<ActionContext, 'database' | 'clock'>,
  organisationId: string,
  { models, most }: { readonly models: readonly Model[]; readonly most: number },
) {
  const nowMs = clock.now();
  const today = dayNumber(nowMs);
  const days = Array.from({ length: daysRead }, (_, index) => dayText(today - daysRead + 1 + index));
  const from = new Date(dayOf(nowMs).getTime() - (daysRead - 1) * dayMs);
  const range = { organisationId, from, before: new Date(nowMs) };
  const records = await new CallDayStore(database).recordsByModel(range);
  const read = models
    .filter(({ _id, live_api }) => live_api && (records.get(_id) ?? 0) > 0)
    .toSorted((one, other) => (records.get(other._id) ?? 0) - (records.get(one._id) ?? 0))
    .slice(0, mostModels);
  if (read.length === 0) return { count: 0, fields: [] };
  const owners = read.map(({ _id, version }) => ({ org: organisationId, model: _id, version }));
  const gaps = await new FieldDayStore(database).gaps(owners, days);
  const drops = read.flatMap((model) => dropsOf(model, days, gaps)).sort((one, other) => lossOf(other) - lossOf(one));
  const fields = await Promise.all(drops.slice(0, most).map((drop) => named(database, drop)));
  return { count: drops.length, fields: fields.filter((field) => field !== undefined) };
}

const lossOf = ({ drop: { before, now } }: SlotDrop): number => before - now;

function dropsOf(model: Model, days: readonly string[], gaps: readonly DayGaps[]): SlotDrop[] {
  const own = gaps.filter((each) => each.model === model._id);
  const byDay = new Map(own.map((each) => [each.day, each]));
  const ofDays = days.map((day) => {
    const { records = 0, slots = [] } = byDay.get(day) ?? {};
    return { day, records, missing: new Map(slots.map(({ slot, missing = 0 }) => [slot, missing])) };
  });
  // A slot that no record lacked on the last day cannot have lost any.
  const last = ofDays.findLast(({ records }) => records > 0);
  return [...(last?.missing.keys() ?? [])].flatMap((slot) => {
    const drop = dropIn(
      ofDays.map(({ day, records, missing }) => ({ day, records, values: records - (missing.get(slot) ?? 0) })),
    );
    return drop === undefined ? [] : [{ model, slot: Number(slot), drop }];
  });
}

/** Only a manifest knows the name of a slot. It is read for what is shown. */
async function named(database: ActionContext['database'], { model, slot, drop }: SlotDrop) {
  const { _id: modelId, name, version } = model;
  const manifest = await loadManifest(database, modelId, version);
  const field = manifest && compileKnownFields(manifest).slotNames[slot];
  if (field === undefined) return undefined;
  const label = manifest?.features.find((feature) => feature.field === field)?.label ?? field;
  return { model_id: modelId, model_name: name, field, label, ...drop };
}
