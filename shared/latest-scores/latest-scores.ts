import { callIdFloor, randomBase62 } from '../contract/identifiers.js';
import type { Redis } from '../redis/connect.js';
import { latestScoresKey, type UsageCounter } from '../redis/keys.js';
import { integerReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { LatestPrediction } from '../store/calls/lead-lookup.js';

/** TTL of a model's latest scores after the last settled call, ms. */
export const latestTtlMs = 7 * 24 * 60 * 60 * 1_000;

/** Max leads of one model in Redis, at about 120 bytes each. For further leads, MongoDB is asked. */
export const maxLatestLeads = 500_000;

/** The latest score of a lead under a model: null when it has none, undefined when Redis does not know. */
export type KnownScore = { readonly id: string; readonly score: number } | null | undefined;

/** Latest scores of some leads under one model. */
export interface LatestUnderModel {
  readonly modelId: string;
  /** One entry a crm_id; empty when Redis knows none. */
  readonly scores: readonly KnownScore[];
  /** For `fill`, and for `ScoredLeads`. */
  readonly epoch: string;
}

/**
 * Cache of the latest score of each lead, in Redis. Settling a call stores its scores (`settle.lua`), so that later
 * calls need not ask MongoDB. An entry is never older than the last settled call; MongoDB knows what is missing.
 *
 * All entries of a model are dropped:
 * - when Redis has restarted;
 * - when another process than its gateway settled a recorded call;
 * - when a recorded call is voided.
 *
 * When a lead is erased, its entry is dropped and the epoch changes. Calls and look-ups from before a change of the
 * epoch store nothing afterwards.
 */
export class LatestScores {
  private readonly readLatest;
  private readonly fillLatest;
  private readonly forgetLeadNow;

  constructor(private readonly redis: Redis) {
    this.readLatest = luaCommand(redis, {
      file: 'shared/latest-scores/read-scores.lua',
      reply: (raw) => (Array.isArray(raw) ? raw.map(stringsReply) : []),
    });
    this.fillLatest = luaCommand(redis, {
      file: 'shared/latest-scores/fill-scores.lua',
      reply: integerReply,
    });
    this.forgetLeadNow = luaCommand(redis, {
      file: 'shared/latest-scores/forget-lead.lua',
      reply: integerReply,
    });
  }

  /**
   * Reads the latest scores of leads under some models.
   * @throws the error of Redis or of the connection, also when memory is full
   */
  async read(query: {
    readonly organisationId: string;
    readonly modelIds: readonly string[];
    readonly crmIds: readonly string[];
  }): Promise<LatestUnderModel[]> {
    const { organisationId, modelIds, crmIds } = query;
    const found = await this.readLatest({
      keys: modelIds.map((modelId) => latestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), latestTtlMs, JSON.stringify(crmIds)],
    });
    return modelIds.map((modelId, index) => {
      const [epoch = '', entries] = found[index] ?? [];
      return { modelId, epoch, scores: entries?.split('\n').map(knownScore) ?? [] };
    });
  }

  /**
   * Stores the result of a look-up in MongoDB, for leads that Redis did not know.
   * @param found.epoch as read before the look-up
   * @param found.crmIds the leads of the look-up; a lead that is not in `latest` has no score
   */
  async fill(found: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly epoch: string;
    readonly crmIds: readonly string[];
    readonly latest: readonly LatestPrediction[];
  }): Promise<void> {
    const { organisationId, modelId, epoch, crmIds, latest } = found;
    if (crmIds.length === 0) return;
    const entries = new Map(latest.map(({ crmId, id, score }) => [crmId, `${id} ${score}`]));
    await this.fillLatest({
      keys: [latestScoresKey(organisationId, modelId)],
      args: [epoch, maxLatestLeads, ...crmIds.flatMap((crmId) => [crmId, entries.get(crmId) ?? '-'])],
    });
  }

  /**
   * Drops an erased lead's entries. Runs twice: when its predictions have been erased, and again a lease later, after
   * the second erasure of what calls recorded that were in flight.
   * @param lead.modelIds all models of the organisation, also deleted ones
   * @param lead.atMs the instant of the erasure, by the clock of call ids; entries of later calls stay
   */
  async forgetLead(lead: {
    readonly organisationId: string;
    readonly modelIds: readonly string[];
    readonly crmId: string;
    readonly atMs: number;
  }): Promise<void> {
    const { organisationId, modelIds, crmId, atMs } = lead;
    if (modelIds.length === 0) return;
    await this.forgetLeadNow({
      keys: modelIds.map((modelId) => latestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), crmId, `${callIdFloor(atMs + 1)} `],
    });
  }

  /** Drops all entries of some models; the next calls ask MongoDB. */
  async forget(organisationId: string, modelIds: readonly string[]): Promise<void> {
    if (modelIds.length === 0) return;
    await this.redis.unlink(...modelIds.map((modelId) => latestScoresKey(organisationId, modelId)));
  }
}

/** Parses an entry of a hash; read-scores.lua defines its forms. */
function knownScore(entry: string): KnownScore {
  if (entry === '-') return null;
  const [id = '', score] = entry.split(' ');
  return score ? { id, score: Number(score) } : undefined;
}

/** Scores of one call: one entry a row. */
export interface ScoredLeads {
  readonly modelId: string;
  readonly crmIds: readonly (string | null)[];
  readonly scores: readonly number[];
  /** Epoch under which the previous scores were read; empty when it is unknown. */
  readonly epoch: string;
}

/** Max rows of a note with several calls: Lua takes a limited number of arguments at once. */
const maxNoteRows = 1_000;

interface SettledCall {
  readonly counter: Pick<UsageCounter, 'organisationId'>;
  readonly latest?: ScoredLeads | undefined;
}

/** Scores of some calls of one command under one model and epoch. */
interface Note {
  readonly key: string;
  readonly epoch: string;
  /** For each call, its index in the command (from 1) and its number of rows. */
  readonly spans: number[];
  readonly scored: ScoredLeads[];
  rows: number;
}

/** The key and the four arguments of each note of `settle.lua`, when it settles these calls. */
export function notesOf(calls: readonly SettledCall[]): readonly { readonly key: string; readonly args: string[] }[] {
  const notes: Note[] = [];
  for (const [index, { counter, latest }] of calls.entries()) {
    if (latest === undefined) continue;
    const rows = latest.scores.length;
    const epoch = withoutVersion(latest.epoch);
    const key = latestScoresKey(counter.organisationId, latest.modelId);
    const isOpen = (note: Note) => note.key === key && note.epoch === epoch && note.rows + rows <= maxNoteRows;
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

/** Only look-ups depend on the version; see read-scores.lua. */
const withoutVersion = (epoch: string): string => epoch.slice(0, Math.max(0, epoch.lastIndexOf(' ')));
