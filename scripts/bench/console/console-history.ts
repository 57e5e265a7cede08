import { dayMs, dayNumber, monthOf } from '../../../shared/contract/dates.js';
import { readingKinds } from '../../../shared/messages/score-job.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { usageBuckets, usageKey } from '../../../shared/redis/keys.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { FieldDayStore, maxCoverageDays } from '../../../shared/store/models/field-days.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { type DayFigures, ValidationDailyStore } from '../../../shared/store/validation/validation-daily.js';
import { seededRandom } from '../../leads/seeded-random.js';
import { crmIdOf } from '../fleet/fleet-predictions.js';
import type { ConsoleOrganisation } from './console-organisation.js';

const slots = 16;
const slotsWithValues = 3;
const valuesOfSlot = 20;
const horizonDays = 90;
const outcomesShare = 0.6;
const outcomesPerWrite = 1_000;

/** Writes what the service derives from a year of calls, and the outcomes of its leads. */
export async function writeHistory(
  database: Db,
  redis: Redis,
  organisation: ConsoleOrganisation,
  of: { readonly endMs: number; readonly days: number; readonly leads: number; readonly predictions: number },
): Promise<void> {
  await writeRollups(database, redis, organisation, of);
  await writeFieldDays(database, organisation, of);
  await writeGradedDays(database, organisation, of);
  const random = seededRandom(2);
  const receivedAt = new Date(of.endMs);
  const outcomes = Array.from({ length: Math.round(of.leads * outcomesShare) }, (_, lead) => ({
    ...{ crmId: crmIdOf(lead), converted: random.chance(0.3) },
    at: new Date(of.endMs - random.integer(0, of.days) * dayMs),
  }));
  const { organisationId } = organisation;
  await new OutcomeStore(database).record({ organisationId, outcomes, receivedAt, perWrite: outcomesPerWrite });
}

/** Rolls up the closed days, and sets the counters of this month. */
async function writeRollups(
  database: Db,
  redis: Redis,
  { organisationId }: ConsoleOrganisation,
  { endMs, days }: { readonly endMs: number; readonly days: number },
): Promise<void> {
  const ledger = new UsageLedger(database);
  const months = new Set(Array.from({ length: days + 1 }, (_, day) => monthOf(endMs - (days - day) * dayMs)));
  for (const bucket of usageBuckets) {
    for (const month of months) await ledger.advanceRollup({ organisationId, bucket, month });
    const counter = { organisationId, bucket, month: monthOf(endMs) };
    await redis.hset(usageKey(counter), { used: await ledger.sum(counter), leased: 0 });
  }
}

async function writeFieldDays(
  database: Db,
  { organisationId: org, modelIds, version }: ConsoleOrganisation,
  { endMs, days, predictions }: { readonly endMs: number; readonly days: number; readonly predictions: number },
): Promise<void> {
  const random = seededRandom(3);
  const store = new FieldDayStore(database);
  const records = Math.round(predictions / days / modelIds.length);
  for (const model of modelIds) {
    const sums = Array.from({ length: maxCoverageDays }, (_, age) => ({
      ...{ org, model, version, records, day: dayNumber(endMs) - age },
      counts: new Map(
        Array.from({ length: slots }, (_, slot) => [slot, readingKinds.map(() => random.integer(0, records / 20))]),
      ),
      values: new Map(
        Array.from({ length: slotsWithValues }, (_, slot) => [
          slot,
          new Map(Array.from({ length: valuesOfSlot }, (_, value) => [`a value ${value}`, random.integer(1, 50)])),
        ]),
      ),
    }));
    const refused = await store.add(sums, days);
    if (refused.length > 0) throw new Error('MongoDB did not take all days of fields');
  }
}

/** A grade itself is measured by the row of grading. */
async function writeGradedDays(
  database: Db,
  { organisationId, modelIds, version }: ConsoleOrganisation,
  { endMs, days, predictions }: { readonly endMs: number; readonly days: number; readonly predictions: number },
): Promise<void> {
  const records = Math.round(predictions / days / modelIds.length);
  const band = { cohort: records / 5, excluded: 0, joined: records / 10, conversions: records / 50, likelihood: 1e6 };
  const readAt = new Date(endMs);
  const figures = Array.from({ length: days }, (_, age): DayFigures => {
    const day = dayNumber(endMs) - age;
    return {
      ...{ day, matured_day: day + horizonDays, bands: Array(5).fill(band), organisation_records: records },
      ...{ ledger_records: records, stored_rows: records, mismatched_requests: 0, without_crm_id: 0, erased: 0 },
    };
  });
  for (const model of modelIds)
    await new ValidationDailyStore(database).replace(figures, {
      graded: `${model}:${version}`,
      organisationId,
      readAt,
    });
}
