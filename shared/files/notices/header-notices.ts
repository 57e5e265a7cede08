import { countText } from '../../contract/figures.js';
import { foldedText } from '../../contract/texts.js';
import type { KnownFields } from '../../messages/field-slots.js';
import { SimilarFields, SuggestionWork } from '../../messages/similar-fields.js';
import { type FieldReport, maxUnknown } from '../field-match.js';
import { shownName } from '../reading/csv-columns.js';

/*
 * Sentences about the names of a file: those of the columns of a CSV, or of the members of its records.
 */

export type NameKind = 'column' | 'key';

const maxMissingListed = 12;
const maxUnknownListed = 5;

/** Names the fields of the model that a file lacks; undefined when it has all. */
export function missingFields({ known, notInFile }: FieldReport, place = 'the file'): string | undefined {
  if (notInFile.length === 0) return undefined;
  const fields = known === 1 ? '1 field' : `${countText(known)} fields`;
  const of = notInFile.length === known ? `all ${fields} that the model knows` : `of ${fields} that the model knows`;
  return `Not in ${place}: ${listed(notInFile.map(shownName), maxMissingListed)} (${of})`;
}

/**
 * Names the columns or keys that the model does not know; undefined when it knows all.
 * @param fields of the model. A field that the file lacks and that is called nearly so follows its name
 */
export function unknownNames(report: FieldReport, kind: NameKind, fields?: KnownFields): string | undefined {
  const { unknown } = report;
  if (unknown.length === 0) return undefined;
  const noun = `${kind}${unknown.length === 1 ? '' : 's'}`;
  const orMore = unknown.length === maxUnknown ? ' or more' : '';
  const meant = fields === undefined ? [] : misspelt(report, fields);
  const others = unknown.filter((name) => !meant.some((each) => each.name === name)).map(shownName);
  const texts = [...meant.map(({ name, field }) => `${shownName(name)} (perhaps ${shownName(field)})`), ...others];
  const max = Math.max(maxUnknownListed, Math.min(meant.length, maxMissingListed));
  return `Unknown to the model: ${countText(unknown.length)}${orMore} ${noun}, ${listed(texts, max)}`;
}

/** The names that are probably misspelt, and the field that each means. */
function misspelt({ unknown, notInFile }: FieldReport, fields: KnownFields) {
  const similar = SimilarFields.among(fields);
  const work = new SuggestionWork();
  const missing = new Set(notInFile);
  return unknown.flatMap((name) => {
    const field = similar.of(name, work).find((each) => missing.has(each));
    return field === undefined ? [] : [{ name, field }];
  });
}

const idExample = 'Lead ID';
/** Folding so many names takes some milliseconds, and a header may have twenty thousand. */
const maxGuessed = 1_000;
/** Names of the id of a record in exports of CRMs, folded, the most likely first. */
const idNames = [
  ...['lead id', 'record id', 'id', 'contact id', 'person id', 'deal id', 'opportunity id', 'crm id', 'external id'],
  ...['customer id', 'account id', 'company id', 'prospect id', 'subscriber id', 'user id', 'hs object id', 'sys id'],
  ...['datensatz id', 'id de registro', 'identifiant', 'uuid', 'guid', 'no', 'nr', 'number', 'key'],
];

/** The name that most likely has the ids of the leads; undefined if none seems to. */
export function guessedIdName(names: readonly string[]): string | undefined {
  const forms = names.slice(0, maxGuessed).map((name) => ({ name, words: wordsOf(name) }));
  const found = idNames.map((each) => forms.find(({ words }) => words === each)).find((each) => each !== undefined);
  return (found ?? forms.find(({ words }) => /(?:^| )(?:id|uuid|guid)(?: |$)/.test(words)))?.name;
}

/** The words of a name with single spaces: those of `LeadID`, `lead_id` and `Lead-Id` are `lead id`. */
const wordsOf = (name: string): string =>
  foldedText(name.slice(0, 100).replace(/(\p{Ll})(?=\p{Lu})/gu, '$1 '))
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/**
 * The consequence of records without a crm_id, and the remedy.
 * @param option writes how the name with the ids is given, such as `--crm-id "Lead ID"`
 * @param names of the file, in which the id is guessed
 */
export function withoutCrmId(kind: NameKind, option: (name: string) => string, names: readonly string[] = []): string {
  const guess = guessedIdName(names) ?? idExample;
  return `Their scores cannot be looked up later and cannot be graded. Name the ${kind} that identifies a lead, such as ${option(guess)}`;
}

/** The sentences about the names of a file: fields that it lacks, names that the model does not know, and no ids. */
export function nameNotices(
  report: FieldReport | undefined,
  of: {
    readonly names: readonly string[];
    readonly hasIds: boolean;
    readonly kind: NameKind;
    readonly fields: KnownFields | undefined;
    /** See `withoutCrmId`. */
    readonly option: (name: string) => string;
    readonly place?: string;
  },
): string[] {
  const { names, hasIds, kind, fields, option, place } = of;
  return [
    report && missingFields(report, place),
    report && unknownNames(report, kind, fields),
    hasIds ? undefined : `Records have no crm_id. ${withoutCrmId(kind, option, names)}`,
  ].filter((notice) => notice !== undefined);
}

function listed(texts: readonly string[], max: number): string {
  const more = texts.length - max;
  return `${texts.slice(0, max).join(', ')}${more > 0 ? ` and ${countText(more)} more` : ''}`;
}
