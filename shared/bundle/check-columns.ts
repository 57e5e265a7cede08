import type { Feature, Manifest } from './manifest.js';

/**
 * Checks that the features fill the model's input exactly: every column within the width, none filled twice, none
 * left over. A column that no feature fills is refused, not only warned about: the format does not say what it
 * would hold, and the model was trained with something in it.
 * @param manifest a manifest of the right shape
 * @returns what is wrong, possibly nothing
 */
export function columnProblems({ features, width }: Manifest): string[] {
  const problems: string[] = [];
  const filledBy = new Map<number, string>();
  for (const [index, feature] of features.entries()) {
    for (const [place, column] of columnsOf(feature, `features[${index}]`)) {
      const other = filledBy.get(column);
      if (column >= width) problems.push(`${place} is ${column}, outside 0..${width - 1}`);
      else if (other !== undefined) problems.push(`${place} is ${column}, which ${other} fills already`);
      else filledBy.set(column, place);
    }
  }
  const empty = Array.from({ length: width }, (_, column) => column).filter(
    (column) => !filledBy.has(column),
  );
  const named = empty.slice(0, 5).join(', ');
  const more = empty.length > 5 ? ` and ${empty.length - 5} more` : '';
  if (empty.length > 0) problems.push(`no feature fills input column ${named}${more}`);
  return problems;
}

function columnsOf(feature: Feature, place: string): (readonly [place: string, column: number])[] {
  const columns = feature.columns.map((column, index) => [`${place}.columns[${index}]`, column] as const);
  const beside = (key: 'other_column' | 'missing_column', column: number | undefined) =>
    column === undefined ? [] : [[`${place}.${key}`, column] as const];
  return [
    ...columns,
    ...beside('other_column', 'other_column' in feature ? feature.other_column : undefined),
    ...beside('missing_column', 'missing_column' in feature ? feature.missing_column : undefined),
  ];
}
