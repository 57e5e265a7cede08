import { callIdFloor, randomBase62 } from '../identifiers.js';
import { integerReply, luaCommand, stringsReply } from '../lua-command.js';
import type { Redis } from '../redis.js';
import { newestScoresKey } from '../redis-keys.js';
import type { NewestPrediction } from '../store/newest-predictions.js';
import { mostNewestLeads, newestKeptMs } from './newest-limits.js';

/** The newest score of a lead under a model: null when it has none, undefined when Redis does not know. */
export type KnownScore = { readonly id: string; readonly score: number } | null | undefined;

/** What Redis knows of some leads under one model. */
export interface NewestUnderModel {
  readonly modelId: string;
  /** Of each crm_id that was asked for; empty when nothing is known. */
  readonly scores: readonly KnownScore[];
  /** For `fill`. */
  readonly generation: string;
}

/**
 * The newest score of each lead, in Redis: settling a call notes what it scored (`settle.lua`), so that no later call need
 * ask MongoDB. What is here is true; what is missing here, MongoDB knows. Given up as a whole where that cannot be kept up:
 * when Redis has restarted, when a recorded call was settled by another than its gateway or taken back, when a lead is
 * erased.
 */
export class NewestScores {
  private readonly readNewest;
  private readonly fillNewest;
  private readonly eraseNewest;
  private readonly forgetLeadNow;

  constructor(private readonly redis: Redis) {
    this.readNewest = luaCommand(redis, {
      file: 'shared/newest-scores/read-newest.lua',
      reply: (raw) => (Array.isArray(raw) ? raw.map(stringsReply) : []),
    });
    this.fillNewest = luaCommand(redis, {
      file: 'shared/newest-scores/fill-newest.lua',
      reply: integerReply,
    });
    this.eraseNewest = luaCommand(redis, {
      file: 'shared/newest-scores/erase-newest.lua',
      reply: integerReply,
    });
    this.forgetLeadNow = luaCommand(redis, {
      file: 'shared/newest-scores/forget-lead.lua',
      reply: integerReply,
    });
  }

  /**
   * The newest scores of leads, under each of some models.
   * @throws what Redis or the connection fails with, also when its memory is full
   */
  async read(query: {
    readonly organisationId: string;
    readonly modelIds: readonly string[];
    readonly crmIds: readonly string[];
  }): Promise<NewestUnderModel[]> {
    const { organisationId, modelIds, crmIds } = query;
    const found = await this.readNewest({
      keys: modelIds.map((modelId) => newestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), newestKeptMs, JSON.stringify(crmIds)],
    });
    return modelIds.map((modelId, index) => {
      const [generation = '', entries] = found[index] ?? [];
      return { modelId, generation, scores: entries?.split('\n').map(knownScore) ?? [] };
    });
  }

  /**
   * Notes what MongoDB says of leads that Redis did not know.
   * @param found.generation as it was read before MongoDB was asked
   * @param found.crmIds the leads that MongoDB was asked for; those that are not in `newest` have no score
   */
  async fill(found: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly generation: string;
    readonly crmIds: readonly string[];
    readonly newest: readonly NewestPrediction[];
  }): Promise<void> {
    const { organisationId, modelId, generation, crmIds, newest } = found;
    if (crmIds.length === 0) return;
    const entries = new Map(newest.map(({ crmId, id, score }) => [crmId, `${id} ${score}`]));
    await this.fillNewest({
      keys: [newestScoresKey(organisationId, modelId)],
      args: [generation, mostNewestLeads, ...crmIds.flatMap((crmId) => [crmId, entries.get(crmId) ?? '-'])],
    });
  }

  /**
   * Forgets a lead, after its predictions were erased; a call from before that is still to be settled does not bring it back.
   * @param lead.modelIds all models of the organisation, deleted ones too
   * @param lead.nowMs the instant of the erasure, by the clock that call ids are made with
   */
  async erase(lead: {
    readonly organisationId: string;
    readonly modelIds: readonly string[];
    readonly crmId: string;
    readonly nowMs: number;
  }): Promise<void> {
    const { organisationId, modelIds, crmId, nowMs } = lead;
    if (modelIds.length === 0) return;
    await this.eraseNewest({
      keys: modelIds.map((modelId) => newestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), newestKeptMs, crmId, `${callIdFloor(nowMs + 1)} `],
    });
  }

  /**
   * Drops what is left of a lead that was erased, when the calls from before have ended: its mark, and with it its crm_id.
   * @param lead.modelIds all models of the organisation, deleted ones too
   * @param lead.atMs the instant of the erasure; what later calls have scored stays
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
      keys: modelIds.map((modelId) => newestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), crmId, `${callIdFloor(atMs + 1)} `],
    });
  }

  /** Gives up what is known under some models; the next calls ask MongoDB. */
  async forget(organisationId: string, modelIds: readonly string[]): Promise<void> {
    if (modelIds.length === 0) return;
    await this.redis.unlink(...modelIds.map((modelId) => newestScoresKey(organisationId, modelId)));
  }
}

/** Of a lead that was erased, Redis does not know what calls have left that were under way then: MongoDB is asked. */
function knownScore(entry: string): KnownScore {
  if (entry === '-') return null;
  const space = entry.indexOf(' ');
  if (space < 0 || space === entry.length - 1) return undefined;
  return { id: entry.slice(0, space), score: Number(entry.slice(space + 1)) };
}
