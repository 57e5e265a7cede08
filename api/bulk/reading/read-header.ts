import { setImmediate as nextStep } from 'node:timers/promises';
import { FieldMatch, type FieldReport } from '../../../shared/files/field-match.js';
import type { FileShape } from '../../../shared/files/file-form.js';
import { type NameKind, nameNotices, unknownNames } from '../../../shared/files/notices/header-notices.js';
import {
  columnOf,
  noKnownColumn,
  noSuchColumn,
  refuseRepeated,
  shownName,
} from '../../../shared/files/reading/csv-columns.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import type { JobOptions } from '../../../shared/store/jobs/job-options.js';
import { maxNameCharacters } from '../../dispatch/field-names.js';

/** Folding so many characters of names takes up to 10 ms. */
const charactersPerStep = 16 * 1024;

export interface HeaderOptions {
  readonly delimiter: string;
  readonly line: number;
  readonly options: Pick<JobOptions, 'crm_id_field' | 'strict'>;
  readonly knownFields: KnownFields;
}

export interface ReadHeader {
  readonly shape: FileShape;
  readonly crmIdColumn: number | undefined;
  /** Columns that the model does not know; at most `maxUnknown`. */
  readonly unknown: readonly string[];
  /** Sentences for people about the names of the columns. */
  readonly notices: readonly string[];
}

/**
 * The form of the rows of a CSV, by the cells of its header.
 * @throws InputFault for two columns of one name that the model reads. Also for no column with the crm_id, and for none
 * that the model knows beside others than the id. With `strict` also for one that it does not know
 */
export async function shapeOfHeader(
  columns: readonly string[],
  { delimiter, line, options, knownFields }: HeaderOptions,
): Promise<ReadHeader> {
  const { crm_id_field: wanted, strict = false } = options;
  const crmIdColumn = await columnOf(columns, { wanted: wanted ?? 'crm_id', line, purpose: 'crm_id' });
  const names = columns.filter((name) => name.trim() !== '');
  if (wanted !== undefined && crmIdColumn === undefined)
    throw noSuchColumn(`column ${shownName(wanted)} for the crm_id`, { names, line, delimiter });
  const crmIdField = crmIdColumn === undefined ? undefined : columns[crmIdColumn];
  const sent = knownFields.sentNames();
  const match = await matchOf(
    names.filter((name) => name !== crmIdField),
    { match: new FieldMatch(knownFields), sent },
  );
  if (match === undefined)
    throw new InputFault(
      `The names of the columns (line ${line}) have more than ${maxNameCharacters} characters in total`,
      { line },
    );
  refuseRepeated(columns, { line, isRead: (name) => sent.targetsOf(name).length > 0 });
  // A file of ids alone scores known leads again, from their earlier values.
  const hasIdsAlone = crmIdColumn !== undefined && names.length === 1;
  if (!match.hasMatch && !hasIdsAlone) throw noKnownColumn({ names, line, delimiter }, knownFields);
  const shape: FileShape = { format: 'csv', columns, delimiter, crm_id_field: crmIdField };
  const report = match.report();
  if (strict) refuseUnknown(report, { kind: 'column', fields: knownFields, line });
  const notices = nameNotices(report, {
    ...{ names, hasIds: crmIdColumn !== undefined, kind: 'column', fields: knownFields, option: idOption },
  });
  return { shape, crmIdColumn, unknown: report.unknown, notices };
}

/**
 * Refuses names that the model does not know.
 * @param line of the header; undefined for members of JSONL
 * @throws InputFault
 */
export function refuseUnknown(
  report: FieldReport,
  { kind, fields, line }: { readonly kind: NameKind; readonly fields: KnownFields; readonly line?: number },
): void {
  const names = unknownNames(report, kind, fields);
  if (names === undefined) return;
  throw new InputFault(
    `${names}. Nothing was scored or counted, because the job is strict. Rename or remove each ${kind}, or create the ` +
      'job without "strict"',
    line === undefined ? {} : { line },
  );
}

/** How a job names the column or key with the ids. */
export const idOption = (name: string): string => `"crm_id_field": ${shownName(name)} in "input" of the job`;

/** @returns undefined for names that are too long in total: no call could score them */
async function matchOf(
  names: readonly string[],
  { match, sent }: { readonly match: FieldMatch; readonly sent: ReturnType<KnownFields['sentNames']> },
): Promise<FieldMatch | undefined> {
  let stepEnd = charactersPerStep;
  for (const name of names) {
    match.add(name, sent);
    if (sent.foldedCharacters > maxNameCharacters) return undefined;
    if (sent.foldedCharacters < stepEnd) continue;
    stepEnd = sent.foldedCharacters + charactersPerStep;
    await nextStep();
  }
  return match;
}
