import { readableCount } from '../../terminal/readable-numbers.js';
import { type FieldReport, mostUnknown } from './field-match.js';
import type { RecordFormat } from './input-file.js';

const mostMissingShown = 12;
const mostUnknownShown = 5;
const longestShown = 60;

/** Which fields that the model knows are missing; undefined when none is. */
export function missingFields({ known, notInFile }: FieldReport): string | undefined {
  if (notInFile.length === 0) return undefined;
  const fields = known === 1 ? '1 field' : `${readableCount(known)} fields`;
  const of =
    notInFile.length === known ? `all ${fields} that the model knows` : `of ${fields} that the model knows`;
  return `Not in the file: ${named(notInFile, mostMissingShown)} (${of})`;
}

/** Which names in the file the model does not know; undefined when it knows them all. */
export function unknownNames({ unknown }: FieldReport, format: RecordFormat): string | undefined {
  if (unknown.length === 0) return undefined;
  const noun = `${format === 'csv' ? 'column' : 'key'}${unknown.length === 1 ? '' : 's'}`;
  const orMore = unknown.length === mostUnknown ? ' or more' : '';
  const count = `${readableCount(unknown.length)}${orMore} ${noun}`;
  return `Not known to the model: ${count}, ${named(unknown, mostUnknownShown)}`;
}

/** What records without a crm_id lose, and what to do. */
export function withoutCrmId(format: RecordFormat): string {
  const noun = format === 'csv' ? 'column' : 'key';
  return `They can be neither found again nor graded. Name the ${noun} that identifies a lead, such as --crm-id "Lead ID"`;
}

function named(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map(quoted).join(', ');
  const more = names.length - most;
  return more > 0 ? `${shown} and ${readableCount(more)} more` : shown;
}

/** As JSON: a line end or a control character in a name does nothing to the terminal. */
const quoted = (name: string): string =>
  JSON.stringify(name.length > longestShown ? `${name.slice(0, longestShown - 1)}…` : name);
