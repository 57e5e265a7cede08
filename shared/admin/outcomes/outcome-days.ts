import { dayStartMs, dayText } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { versionsByModel } from '../../store/models/model-versions.js';
import { type DayBand, ValidationDailyStore } from '../../store/validation/validation-daily.js';
import { defineAction } from '../action.js';
import { chosenDays } from '../chosen-days.js';
import { requireModel } from '../models/read-models.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { outcomeDaysInput, outcomeDaysOutput } from '../schemas/outcomes.js';
import { dayEvents } from '../usage/day-events.js';

type Sums = ShapeOf<typeof outcomeDaysOutput>['sums'];

/** The leads of a model by the day of their first score, with those that have an outcome, as the last grade counted. */
export const showOutcomeDays = defineAction({
  name: 'outcomes.days',
  description: "Read how many of a model's leads of at most 92 days have outcomes, and of as many days before them.",
  role: 'admin',
  effect: 'read',
  input: outcomeDaysInput,
  output: outcomeDaysOutput,
  async run(context, { org_id: organisationId, model_id: modelId, from, to }) {
    const { database, clock } = context;
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    await requireModel(context, { org_id: organisationId, model_id: modelId });
    const days = chosenDays({ from, to }, { nowMs: clock.now(), createdAt: organisation.created_at });
    const { first, last, earlier } = days;
    const versions = (await versionsByModel(database, modelId)).get(modelId) ?? [];
    const until = new Date(dayStartMs(last + 1));
    const [found, events] = await Promise.all([
      new ValidationDailyStore(database).between(
        versions.map((version) => `${modelId}:${version}`),
        { first: earlier?.first ?? first, last },
      ),
      dayEvents(database, organisationId, { from: new Date(dayStartMs(first)), until, withOutcomes: true }),
    ]);
    const byDay = new Map<number, Sums>();
    for (const { day, bands } of found) byDay.set(day, added(byDay.get(day) ?? none, sumsOf(bands)));
    const daysOf = (range: { readonly first: number; readonly last: number }) =>
      Array.from({ length: range.last - range.first + 1 }, (_, index) => range.first + index).map((day) => ({
        day: dayText(day),
        ...(byDay.get(day) ?? none),
      }));
    const [shown, before] = [daysOf(days), earlier === undefined ? [] : daysOf(earlier)];
    return {
      ...{ model_id: modelId, created_at: organisation.created_at.toISOString() },
      ...{ from: dayText(first), to: dayText(last) },
      before: earlier === undefined ? null : { from: dayText(earlier.first), to: dayText(earlier.last) },
      ...{ days: shown, sums: shown.reduce(added, none) },
      ...{ days_before: before, sums_before: before.reduce(added, none) },
      events: [...events.events],
      has_more_events: events.hasMore,
    };
  },
});

const none: Sums = { leads: 0, with_outcome: 0, converted: 0 };

const added = (one: Sums, other: Sums): Sums => ({
  leads: one.leads + other.leads,
  with_outcome: one.with_outcome + other.with_outcome,
  converted: one.converted + other.converted,
});

const sumsOf = (bands: readonly Pick<DayBand, 'cohort' | 'joined' | 'conversions'>[]): Sums =>
  bands
    .map(({ cohort, joined, conversions }) => ({ leads: cohort, with_outcome: joined, converted: conversions }))
    .reduce(added, none);
