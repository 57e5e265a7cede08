import { useState } from 'preact/hooks';
import type { outcomeDaysOutput } from '../../../../../shared/admin/schemas/outcomes.js';
import { wholePercentText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { EventList, RangeBars } from '../../charts/range-bars.js';
import { countText } from '../../parts/formats.js';
import { SelectField } from '../../parts/forms/field.js';
import { lastDays, RangeChoice } from '../../parts/forms/range.js';
import { Card, Load } from '../../parts/page.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { type DayRange, useRange } from '../../server/use-range.js';
import type { Outcomes } from './gate-moves.js';

type OutcomeDays = ShapeOf<typeof outcomeDaysOutput>;
const [shownDays, mostDays] = [30, 92];

/** The leads of a model by the day of their first score, and which of them have an outcome. For models with grades. */
export function DaysCard({ of: { models } }: { readonly of: Outcomes }) {
  const graded = models.filter(({ next_grade_at: next }) => next !== undefined);
  const [range, setRange] = useRange(lastDays(shownDays));
  const [chosen, setChosen] = useState<string>();
  const model = graded.find(({ model_id: id }) => id === chosen) ?? graded[0];
  if (model === undefined) return null;
  return (
    <Card
      title="Leads with an outcome by day"
      about="By the day of a lead's first score, as the last grade counted them."
    >
      {graded.length > 1 && (
        <div class="form">
          <SelectField
            label="Model"
            value={model.model_id}
            set={setChosen}
            options={graded.map(({ model_id: id, name }) => [id, name] as const)}
          />
        </div>
      )}
      <RangeChoice range={range} set={setRange} most={mostDays} />
      {/* A grade counts the leads again. */}
      <Days key={`${model.model_id} ${model.graded_at}`} model={model.model_id} range={range} />
    </Card>
  );
}

function Days({ model, range: { from, to } }: { readonly model: string; readonly range: DayRange }) {
  const { api } = useOrganisation();
  const days = useLoad<OutcomeDays>(`${api}/models/${encodeURIComponent(model)}/outcome-days?from=${from}&to=${to}`);
  return <Load of={days}>{(data) => <Figures of={data} />}</Load>;
}

const [label, unit] = ['Leads with an outcome by day', 'With an outcome'];

function Figures({ of: data }: { readonly of: OutcomeDays }) {
  const { sums, sums_before: before, days } = data;
  const valuesOf = (each: OutcomeDays['days']) =>
    each.map(({ day, with_outcome: value, leads }) => ({ day, value, whole: leads }));
  return (
    <>
      <p>
        <strong>{shareText(sums)}</strong> <span class="soft">{data.before && beforeText(before, days.length)}</span>
      </p>
      {sums.leads + before.leads > 0 && (
        <RangeBars
          {...{ label, unit, whole: 'Leads', events: data.events, since: data.created_at }}
          days={valuesOf(days)}
          before={valuesOf(data.days_before)}
        />
      )}
      <EventList of={data.events} hasMore={data.has_more_events} />
    </>
  );
}

function shareText({ leads, with_outcome: known, converted }: OutcomeDays['sums']): string {
  if (leads === 0) return 'No leads of these days are counted.';
  return `${countText(known)} of ${countText(leads)} leads have an outcome (${wholePercentText(known / leads)}), and ${countText(converted)} converted.`;
}

function beforeText({ leads, with_outcome: known }: OutcomeDays['sums'], days: number): string {
  const words = days === 1 ? 'The day before' : `The ${days} days before`;
  return leads === 0
    ? `${words} had no leads.`
    : `${words}: ${countText(known)} of ${countText(leads)} (${wholePercentText(known / leads)}).`;
}
