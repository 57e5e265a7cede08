import type { OutgoingPart, PartReply, ScoredPart } from '../../shared/messages/score-job.js';
import type { SentNames } from '../../shared/messages/sent-names.js';
import type { AdmittedModel, ScoringCall } from '../call/scoring-call.js';

/** Gateway, Redis and worker take 10 ms each for a chunk of this length. */
export const maxPartCharacters = 1024 * 1024;

/**
 * Cuts a call into parts of at most `maxRecords` records and about a million characters. Each record keeps only the
 * fields that the model knows.
 */
export function* packedParts(
  call: ScoringCall,
  { knownFields }: AdmittedModel,
  { names, maxRecords }: { readonly names: SentNames; readonly maxRecords: number },
): Generator<OutgoingPart> {
  // Live scores of a lead are not for test keys, whose own scores are not stored.
  const isLookedUp = call.bucket === 'live' && call.withoutLookups !== true;
  let rows: string[] = [];
  let characters = 0;
  for (const [index, { fields, packed }] of call.records.entries()) {
    const row = packed ?? JSON.stringify(knownFields.pack(fields, names));
    rows.push(row);
    characters += row.length;
    const isLast = index === call.records.length - 1;
    if (rows.length < maxRecords && characters < maxPartCharacters && !isLast) continue;
    const firstRow = index + 1 - rows.length;
    const records = call.records.slice(firstRow, index + 1);
    yield {
      now: call.atMs,
      explain: call.explain,
      ...(call.tolerant === true && { tolerant: true }),
      ...(call.inputReport === 'records' && { reportsRecords: true }),
      firstRow,
      crmIds: records.map(({ crmId }) => (isLookedUp ? crmId : null)),
      rows,
    };
    rows = [];
    characters = 0;
  }
}

/** The records of a part in parts of at most `maxRecords` records. */
export function dividedPart(part: OutgoingPart, maxRecords: number): readonly OutgoingPart[] {
  return Array.from({ length: Math.ceil(part.rows.length / maxRecords) }, (_, index) => {
    const [from, to] = [index * maxRecords, (index + 1) * maxRecords];
    const { firstRow, crmIds, rows } = part;
    return { ...part, firstRow: firstRow + from, crmIds: crmIds.slice(from, to), rows: rows.slice(from, to) };
  });
}

/** The records of some parts. */
export const recordsOf = (parts: readonly Pick<OutgoingPart, 'rows'>[]): number =>
  parts.reduce((sum, { rows }) => sum + rows.length, 0);

/** Puts parts into chunks of at most `maxRecords` records and about a million characters. A part stays whole. */
export function sharedChunks(parts: readonly OutgoingPart[], maxRecords: number): readonly OutgoingPart[][] {
  const chunks: OutgoingPart[][] = [];
  let [records, characters] = [maxRecords, 0];
  for (const part of parts) {
    const length = part.rows.reduce((sum, row) => sum + row.length, 0);
    if (records + part.rows.length > maxRecords || characters + length > maxPartCharacters) {
      chunks.push([]);
      records = 0;
      characters = 0;
    }
    chunks.at(-1)?.push(part);
    records += part.rows.length;
    characters += length;
  }
  return chunks;
}

/** The fields of each accepted record: as sent, or with the stored fields that a worker filled in. */
export function fieldsOf(sent: readonly OutgoingPart[], scored: readonly ScoredPart[]): string[] {
  return sent.flatMap(({ rows, firstRow }, index) => {
    const { filled = [], refused = [] } = scored[index] ?? {};
    if (filled.length === 0 && refused.length === 0) return rows;
    const dropped = new Set(refused.map(({ record }) => record - firstRow));
    const fields = rows.filter((_, row) => !dropped.has(row));
    for (const [row, text] of filled) fields[row] = text;
    return fields;
  });
}

/** Characters of the records into which stored fields were filled. */
export function filledCharacters(replies: readonly PartReply[]): number {
  let characters = 0;
  for (const reply of replies) if ('filled' in reply) for (const [, text] of reply.filled) characters += text.length;
  return characters;
}
