import { latestScoresKey, type UsageCounter } from '../redis/keys.js';

/** What a call scored: of each row the crm_id, or null, and the score. */
export interface ScoredLeads {
  readonly modelId: string;
  readonly crmIds: readonly (string | null)[];
  readonly scores: readonly number[];
  /** Of the newest scores, as it was when the previous ones were read; empty when it is not known, or no longer one. */
  readonly epoch: string;
}

/** Rows of one note at most, unless one call has more: Lua takes only so many arguments at once. */
const maxNoteRows = 1_000;

/** A call that is settled. */
interface SettledCall {
  readonly counter: Pick<UsageCounter, 'organisationId'>;
  readonly latest?: ScoredLeads | undefined;
}

/** What some calls of one command scored under one generation of a model's newest scores. */
interface Note {
  readonly key: string;
  readonly epoch: string;
  /** Of each call, which of the command it is (from 1) and its rows. */
  readonly spans: number[];
  readonly scored: ScoredLeads[];
  rows: number;
}

/** What settle.lua is told of the newest scores, when it settles some calls: a hash, and four arguments each. */
export function notesOf(
  calls: readonly SettledCall[],
): readonly { readonly key: string; readonly args: string[] }[] {
  const notes: Note[] = [];
  for (const [index, { counter, latest }] of calls.entries()) {
    if (latest === undefined) continue;
    const rows = latest.scores.length;
    const { epoch } = latest;
    const key = latestScoresKey(counter.organisationId, latest.modelId);
    const isOpen = (note: Note) =>
      note.key === key && note.epoch === epoch && note.rows + rows <= maxNoteRows;
    let note = notes.find(isOpen);
    if (note === undefined) {
      note = { key, epoch, spans: [], scored: [], rows: 0 };
      notes.push(note);
    }
    note.spans.push(index + 1, rows);
    note.scored.push(latest);
    note.rows += rows;
  }
  return notes.map(({ key, epoch, spans, scored }) => {
    const crmIds = scored.flatMap((leads) => leads.crmIds);
    const scores = scored.flatMap((leads) => leads.scores);
    return { key, args: [epoch, ...[spans, crmIds, scores].map((list) => JSON.stringify(list))] };
  });
}
