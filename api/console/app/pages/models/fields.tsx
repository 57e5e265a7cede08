import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { coverageOutput } from '../../../../../shared/admin/schemas/models.js';
import { wholePercentText } from '../../../../../shared/contract/figures.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { Spark } from '../../charts/spark.js';
import { countText, dayText } from '../../parts/formats.js';
import { lastDays, lengthOf, RangeChoice } from '../../parts/forms/range.js';
import { Card, Load } from '../../parts/page.js';
import { useSome } from '../../parts/some.js';
import { Table } from '../../parts/table.js';
import { useOrganisation } from '../../server/session.js';
import { useLoad } from '../../server/use-load.js';
import { useRange } from '../../server/use-range.js';
import type { Model } from './model-props.js';

type Coverage = ShapeOf<typeof coverageOutput>;
type Covered = Coverage['fields'][number];
type Field = NonNullable<Model['fields']>[number];

const maxValues = 3;
/** Without a choice a coverage has the last seven days, or fewer of a model with thousands of fields. */
const [usualDays, mostDays] = [7, 90];
const maxAliases = 5;
/** How a date field reads dates with slashes. */
const orders = { dmy: 'with slashes: day first', mdy: 'with slashes: month first' } as const;

/** In words, how a date field reads dates with slashes, or how many values a field knows; empty for other types. */
export function typeNote({ type, date_order: order }: Pick<Field, 'type' | 'date_order'>, categories = 0): string {
  if (type === 'date') return order === undefined ? 'no dates with slashes' : orders[order];
  return categories > 0 ? `${countText(categories)} values` : '';
}

/** The fields of a model, and for an admin how the last calls filled them. */
export function FieldsCard({ model }: { readonly model: Model }) {
  const { may } = useOrganisation();
  return may('admin') ? <CoveredFields model={model} /> : <FieldTable fields={model.fields ?? []} />;
}

function CoveredFields({ model }: { readonly model: Model }) {
  const { api } = useOrganisation();
  const [range, setRange] = useRange(undefined);
  const query = range === undefined ? '' : `?days=${lengthOf(range)}&to=${range.to}`;
  const coverage = useLoad<Coverage>(`${api}/models/${encodeURIComponent(model.model_id)}/coverage${query}`);
  // The table stays while other days load, so the choice keeps the focus.
  const last = useRef<Coverage>(undefined);
  if (coverage.data) last.current = coverage.data;
  const choice = <RangeChoice range={range ?? lastDays(usualDays)} set={setRange} most={mostDays} />;
  if (coverage.problem || last.current === undefined)
    return (
      <>
        {range && choice}
        <Load of={coverage}>{() => null}</Load>
      </>
    );
  return <FieldTable fields={model.fields ?? []} coverage={last.current} choice={choice} />;
}

function FieldTable(props: {
  readonly fields: readonly Field[];
  readonly coverage?: Coverage;
  /** Chooses the days of the coverage. */
  readonly choice?: ComponentChildren;
}) {
  const { fields, coverage } = props;
  const { base } = useOrganisation();
  const { shown, more } = useSome(fields, { words: 'fields' });
  const attention = useSome(coverage?.attention ?? [], { words: 'reasons' });
  // Of two features that read one field by different names, both rows show the coverage of the first.
  const covered = new Map(coverage?.fields.toReversed().map((each) => [each.field, each]));
  const records = coverage?.days.reduce((sum, day) => sum + day.records, 0) ?? 0;
  return (
    <Card id="fields" title="Fields" about={aboutOf(coverage, records)}>
      {attention.shown.length > 0 && (
        <div class="note warn">
          <p>
            These fields need attention. A CRM may have changed: <a href={`${base}/crm`}>see which calls arrive</a>.
          </p>
          <ul class="small">
            {attention.shown.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          {attention.more}
        </div>
      )}
      {props.choice}
      {fields.length === 0 && <p class="soft">The fields of this version are not known.</p>}
      {fields.length > 0 && (
        <Table
          label="Fields"
          columns={[
            'Field',
            'Type',
            ...(records > 0 ? ['Sent', 'Filled in', 'Unread', 'Unseen', 'By day', 'Unseen values'] : []),
          ]}
          rows={shown.map((field) => [
            <FieldName key="name" field={field} />,
            <FieldType key="type" field={field} />,
            ...(coverage && records > 0 ? cellsOf(covered.get(field.field), coverage.days, records) : []),
          ])}
        />
      )}
      {more}
    </Card>
  );
}

const aboutOf = (coverage: Coverage | undefined, records: number) => {
  const known = 'Values that the model reads. It reads other names of a field too.';
  if (coverage === undefined) return known;
  const [since, last] = [coverage.days[0]?.day ?? '', coverage.days.at(-1)?.day ?? ''];
  const when = last === lastDays(1).to ? `since ${dayText(since)}` : `from ${dayText(since)} to ${dayText(last)}`;
  return records === 0
    ? `${known} No record of a live key was scored ${when}.`
    : `${known} Read in ${countText(records)} records of live keys ${when}. Unread and unseen are shares of the values.`;
};

function FieldName({ field }: { readonly field: Field }) {
  const { label, required, aliases = [] } = field;
  return (
    <>
      <strong>{label}</strong> {required && <span class="badge warn">required</span>}
      <p class="small soft">
        <code>{field.field}</code>
        {aliases.length > 0 && `, also ${aliases.slice(0, maxAliases).join(', ')}`}
        {aliases.length > maxAliases && ` and ${countText(aliases.length - maxAliases)} more`}
      </p>
    </>
  );
}

function FieldType({ field }: { readonly field: Field }) {
  const note = typeNote(field, field.categories?.length);
  return (
    <>
      <span class="badge">{field.type}</span>
      {note && <p class="small soft">{note}</p>}
    </>
  );
}

/** The counts of one field: shares of the records, then shares of the values. */
function cellsOf(field: Covered | undefined, days: Coverage['days'], records: number) {
  if (field === undefined) return ['–', '', '', '', '', ''];
  const values = valuesOf(field);
  const byDay = days.map((day, index) => {
    const counts = field.by_day[index];
    return day.records === 0 || counts === undefined ? null : valuesOf(counts) / day.records;
  });
  return [
    shareOf(field.sent, records),
    shareOf(field.filled, records),
    shareOf(field.unread, values),
    shareOf(field.unseen, values),
    <Spark key="days" values={byDay} top={1} />,
    <UnseenValues key="values" of={field.unseen_values} />,
  ];
}

function UnseenValues({ of: values }: { readonly of: Covered['unseen_values'] }) {
  if (values.length === 0) return null;
  return (
    <p class="small">
      {values
        .slice(0, maxValues)
        .map(({ value, records }) => `${value} (${countText(records)})`)
        .join(', ')}
      {values.length > maxValues && ` and ${countText(values.length - maxValues)} more`}
    </p>
  );
}

const valuesOf = ({ sent, filled }: Pick<Covered, 'sent' | 'filled'>): number => sent + filled;

const shareOf = (count: number, whole: number): string =>
  count === 0 || whole === 0 ? '–' : wholePercentText(count / whole);
