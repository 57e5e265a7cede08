import type { Cell } from '../../shared/messages/cells.js';
import { isAbsent } from '../../shared/messages/cells.js';
import type { OutgoingPart, ScoredPart } from '../../shared/messages/score-job.js';
import type { AdmittedModel } from './scoring-call.js';

/**
 * A part without the values that come from an earlier prediction of its leads. A key without the scope `read` gets it:
 * reasons must not tell what such a key may not read.
 * @param sent its records as they were sent
 */
export function withoutStoredValues(
  part: ScoredPart,
  sent: Pick<OutgoingPart, 'rows' | 'firstRow'>,
  { knownFields }: Pick<AdmittedModel, 'knownFields'>,
): ScoredPart {
  const { explained, filled, refused = [] } = part;
  if (explained === undefined || filled.length === 0) return part;
  const dropped = new Set(refused.map(({ record }) => record - sent.firstRow));
  const accepted = sent.rows.filter((_, row) => !dropped.has(row));
  const { fields } = explained;
  const hidden = new Set<number>();
  for (const [row] of filled) {
    const cells = JSON.parse(accepted[row] ?? '[]') as readonly Cell[];
    const filledNames = new Set(knownFields.slotNames.filter((_, slot) => isAbsent(cells[slot])));
    for (const [field, [name]] of fields.entries()) if (filledNames.has(name)) hidden.add(row * fields.length + field);
  }
  return { ...part, explained: { ...explained, hidden } };
}
