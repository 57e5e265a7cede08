import type { Redis } from '../redis/connect.js';
import { callKey, latestScoresKey, type UsageCounter } from '../redis/keys.js';
import { integersReply, luaCommand } from '../redis/lua-command.js';
import { gapsText, latestTtlMs, maxLatestLeads } from './latest-scores.js';

/** Scores of one call: one entry a row. */
export interface ScoredLeads {
  readonly modelId: string;
  readonly version: string;
  readonly crmIds: readonly (string | null)[];
  readonly scores: readonly number[];
  /** See `CachedLead`; 0 where they are not known. */
  readonly gaps: readonly number[];
  /** Epoch under which the leads were read; empty when they must not be added, because a later prediction may exist. */
  readonly epoch: string;
}

/** A recorded call; one without `latest` has no scores to note. */
interface NotedCall {
  readonly counter: Pick<UsageCounter, 'organisationId'>;
  readonly callId: string;
  readonly latest?: ScoredLeads | undefined;
}

/** Makes the scores of recorded calls of one organisation the latest scores of their leads. See note-scores.lua. */
export class ScoreNotes {
  private readonly note;

  /** @param maxFields of an organisation's hash: its leads, and what it has besides */
  constructor(
    redis: Redis,
    private readonly maxFields = maxLatestLeads,
  ) {
    this.note = luaCommand(redis, {
      file: 'shared/latest-scores/note-scores.lua',
      reply: integersReply,
      atOnce: 'whole',
    });
  }

  /**
   * Sends the command before it returns, so that a settle sent next on the same connection arrives after it.
   * @returns the ids of calls that were released, whose scores are not noted
   * @throws the error of Redis; the scores may be noted or not
   */
  async add(calls: readonly NotedCall[]): Promise<ReadonlySet<string>> {
    const notes = notesOf(calls);
    const [first] = calls;
    if (first === undefined || notes.length === 0) return new Set();
    const { organisationId } = first.counter;
    const callIds = notes.flatMap((note) => note.callIds);
    const args = [latestTtlMs, this.maxFields, ...notes.flatMap(argsOf)];
    const keys = [latestScoresKey(organisationId), ...callIds.map((callId) => callKey(organisationId, callId))];
    const noted = await this.note({ keys, args });
    return new Set(callIds.filter((_, index) => noted[index] !== 1));
  }
}

/** Max rows of a note with several calls: Lua takes a limited number of arguments at once. */
const maxNoteRows = 1_000;

/** Scores of some calls of one command under one version of a model and epoch. */
interface Note {
  readonly modelId: string;
  readonly version: string;
  readonly epoch: string;
  readonly callIds: string[];
  readonly scored: ScoredLeads[];
  rows: number;
}

function notesOf(calls: readonly NotedCall[]): Note[] {
  const notes: Note[] = [];
  for (const { callId, latest } of calls) {
    if (latest === undefined) continue;
    const { modelId, version, epoch } = latest;
    const rows = latest.scores.length;
    const isSame = (note: Note) => note.modelId === modelId && note.version === version && note.epoch === epoch;
    const isOpen = (note: Note) => isSame(note) && note.rows + rows <= maxNoteRows;
    let note = notes.find(isOpen);
    if (note === undefined) {
      note = { modelId, version, epoch, callIds: [], scored: [], rows: 0 };
      notes.push(note);
    }
    note.callIds.push(callId);
    note.scored.push(latest);
    note.rows += rows;
  }
  return notes;
}

function argsOf({ modelId, version, epoch, callIds, scored }: Note): string[] {
  const rowsOf = scored.map(({ crmIds }) => lastRows(crmIds));
  const hasGaps = scored.some(({ gaps }) => gaps.some((each) => each !== 0));
  let [items, gaps] = ['', ''];
  for (const [index, leads] of scored.entries())
    for (const row of rowsOf[index]?.values() ?? []) {
      items += itemText(callIds[index] ?? '', row, leads.scores[row] ?? 0);
      if (hasGaps) gaps += gapsText(leads.gaps[row] ?? 0);
    }
  const counts = rowsOf.map(({ size }) => size);
  const crmIds = rowsOf.flatMap((rows) => [...rows.keys()]);
  return [epoch, modelId, version, JSON.stringify(counts), JSON.stringify(crmIds), items, gaps];
}

/** The last row of each lead of a call. */
function lastRows(crmIds: readonly (string | null)[]): ReadonlyMap<string, number> {
  const rows = new Map<string, number>();
  for (const [row, crmId] of crmIds.entries()) if (crmId !== null) rows.set(crmId, row);
  return rows;
}

/** An item without the number of its model; see read-scores.lua. */
const itemText = (callId: string, row: number, score: number): string =>
  callId + String(row).padStart(4, '0') + String(score).padStart(3, '0');
