import type { playgroundOutput } from '../../../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../../../shared/contract/schema.js';
import { countText } from '../../parts/formats.js';

export type RecordValues = Readonly<Record<string, string | number | boolean | null | readonly unknown[]>>;
export type InputReport = ShapeOf<typeof playgroundOutput>['input'];

/** Why values of a record did not count as they were meant, in the order of the report: by field, in words. */
export function warningsOf({ unread, unseen, ambiguous }: InputReport): ReadonlyMap<string, string> {
  return new Map([
    ...unread.map(({ field, value, reason }) => [field, `"${value}" was not read: ${reason}.`] as const),
    ...unseen.map(({ field, value }) => [field, `The model has not seen "${value}" in training.`] as const),
    ...ambiguous.map(
      ({ field, value, date_order: order }) => [field, `"${value}" was read as ${orders[order] ?? order}.`] as const,
    ),
  ]);
}

const orders: Readonly<Record<string, string>> = { dmy: 'day, month, year', mdy: 'month, day, year' };

/** A report lists the first twenty of each. */
const cutLists = ['unread', 'unseen', 'ambiguous', 'ignored'] as const;

/** Names of a record that are no fields of the model, and the warnings about fields that the form does not show. */
export function InputNotes(props: {
  readonly report: InputReport;
  /** Names of fields with their warnings; empty where the fields show them. */
  readonly warnings: ReadonlyMap<string, string>;
  readonly values: RecordValues;
  readonly set: (values: RecordValues) => void;
}) {
  const { report, warnings, values, set } = props;
  const { ignored, did_you_mean: meant, more = {} } = report;
  const unlisted = cutLists.flatMap((list) => (more[list] === undefined ? [] : [[list, more[list]] as const]));
  if (ignored.length === 0 && warnings.size === 0 && unlisted.length === 0) return null;
  const rename = (name: string, field: string) =>
    set(
      Object.fromEntries(
        // The field itself is empty: its value would replace the renamed one.
        Object.entries(values).flatMap(([key, value]) => (key === field ? [] : [[key === name ? field : key, value]])),
      ),
    );
  return (
    <ul class="note warn notes small" aria-label="How the record was read">
      {ignored.map((name) => {
        const field = Object.hasOwn(meant, name) ? meant[name] : undefined;
        return (
          <li key={name}>
            "{name}" is no field of this model{field ? `. Did you mean "${field}"? ` : ', and did not count.'}
            {field && Object.hasOwn(values, name) && (
              <button type="button" class="button" onClick={() => rename(name, field)}>
                Use {field}
              </button>
            )}
          </li>
        );
      })}
      {[...warnings].map(([field, text]) => (
        <li key={field}>
          {field}: {text}
        </li>
      ))}
      {unlisted.map(([list, count]) => (
        <li key={list}>
          {countText(count)} more {list}
        </li>
      ))}
    </ul>
  );
}
