import { typeNote } from '../fields.js';
import type { Report } from '../gates.js';

type Field = Report['fields'][number];

/** A field that two versions read in different ways, in words. */
interface DifferingField {
  readonly field: string;
  readonly one: string;
  readonly other: string;
}

/** The fields of two versions that differ, and how many are the same. Fields that one version lacks come first. */
export function differingFields(
  one: readonly Field[],
  other: readonly Field[],
): { readonly differing: readonly DifferingField[]; readonly same: number } {
  const [known, otherKnown] = [wordsByField(one), wordsByField(other)];
  const fields = [...new Set([...known.keys(), ...otherKnown.keys()])];
  const differing = fields.filter((field) => known.get(field) !== otherKnown.get(field));
  const isInBoth = (field: string) => known.has(field) && otherKnown.has(field);
  return {
    differing: [...differing.filter((field) => !isInBoth(field)), ...differing.filter(isInBoth)].map((field) => ({
      field,
      one: known.get(field) ?? 'not a field of this version',
      other: otherKnown.get(field) ?? 'not a field of this version',
    })),
    same: fields.length - differing.length,
  };
}

/** The features of a version by field, in words. Several features may read one field. */
function wordsByField(fields: readonly Field[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  for (const each of fields) {
    const before = words.get(each.field);
    words.set(each.field, before === undefined ? wordsOfField(each) : `${before}; ${wordsOfField(each)}`);
  }
  return words;
}

const wordsOfField = (field: Field): string =>
  [field.label, field.type, field.required ? 'required' : '', typeNote(field, field.categories)]
    .filter((words) => words !== '')
    .join(', ');
