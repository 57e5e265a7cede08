import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { FieldMatch } from '../../../shared/files/field-match.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import type { FileShape, JobOptions } from '../../../shared/store/jobs/job-documents.js';
import { maxNameCharacters } from '../../dispatch/field-names.js';
import { InputFault } from './input-fault.js';

/** Columns of a file; a CRM exports a few hundred. Each is a cell of each row. */
export const maxColumns = 20_000;
/** Folding so many characters of names takes up to 10 ms. */
const charactersPerTurn = 16 * 1024;
const maxListed = 12;
const maxNameLength = 60;

export interface HeaderOptions {
  readonly delimiter: string;
  readonly line: number;
  readonly options: Pick<JobOptions, 'crm_id_field'>;
  readonly knownFields: KnownFields;
}

/**
 * The form of the rows of a CSV, by the cells of its header.
 * @throws InputFault for two columns of one name, too many columns, no column with the crm_id or none that the model knows
 */
export async function shapeOfHeader(
  columns: readonly string[],
  { delimiter, line, options, knownFields }: HeaderOptions,
): Promise<FileShape> {
  const fault = (message: string) => new InputFault(message, { line });
  if (columns.length > maxColumns) throw fault(`The header (line ${line}) has more than ${maxColumns} columns`);
  const names = columns.filter((name) => name.trim() !== '');
  const repeated = firstRepeated(names);
  if (repeated !== undefined)
    throw fault(`Two columns have the name ${shown(repeated)} (line ${line}). Rename or remove one of them`);
  const { crm_id_field: wanted } = options;
  if (wanted !== undefined && !names.includes(wanted))
    throw fault(
      `The header (line ${line}) has no column ${shown(wanted)} for the crm_id. Its columns: ${listed(names)}`,
    );
  const crmIdField = wanted ?? (names.includes('crm_id') ? 'crm_id' : undefined);
  const match = await matchOf(
    names.filter((name) => name !== crmIdField),
    knownFields,
  );
  if (match === undefined)
    throw fault(`The names of the columns (line ${line}) have more than ${maxNameCharacters} characters in total`);
  if (!match.hasMatch)
    throw fault(
      `The header (line ${line}) has no column that the model knows. Its columns: ${listed(names)}. Fields of the model: ${listed(match.report().notInFile)}`,
    );
  return { format: 'csv', columns, delimiter, crm_id_field: crmIdField };
}

function firstRepeated(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

/** @returns undefined for names that are too long in total: no call could score them */
async function matchOf(names: readonly string[], knownFields: KnownFields): Promise<FieldMatch | undefined> {
  const match = new FieldMatch(knownFields);
  const sent = knownFields.sentNames();
  let turnEnd = charactersPerTurn;
  for (const name of names) {
    match.add(name, sent);
    if (sent.foldedCharacters > maxNameCharacters) return undefined;
    if (sent.foldedCharacters < turnEnd) continue;
    turnEnd = sent.foldedCharacters + charactersPerTurn;
    await turnOfTheLoop();
  }
  return match;
}

function listed(names: readonly string[]): string {
  const more = names.length - maxListed;
  return `${names.slice(0, maxListed).map(shown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** JSON quoting keeps line breaks and control characters of a name out of logs and terminals. */
const shown = (name: string): string =>
  JSON.stringify(name.length > maxNameLength ? `${name.slice(0, maxNameLength - 1).toWellFormed()}…` : name);
