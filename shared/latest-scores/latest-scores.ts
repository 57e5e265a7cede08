import { callIdFloor, randomBase62 } from '../contract/identifiers.js';
import type { Redis } from '../redis/connect.js';
import { latestScoresKey } from '../redis/keys.js';
import { integerReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { LatestPrediction } from '../store/calls/lead-lookup.js';

/** The newest score of a lead under a model: null when it has none, undefined when Redis does not know. */
export type KnownScore = { readonly id: string; readonly score: number } | null | undefined;

/** What Redis knows of some leads under one model. */
export interface LatestUnderModel {
  readonly modelId: string;
  /** Of each crm_id that was asked for; empty when nothing is known. */
  readonly scores: readonly KnownScore[];
  /** For `fill`. */
  readonly epoch: string;
}

/**
 * The newest score of each lead, in Redis: settling a call notes what it scored (`settle.lua`), so that no later call need
 * ask MongoDB. What is here is true; what is missing here, MongoDB knows. Given up as a whole where that cannot be kept up:
 * when Redis has restarted, when a recorded call was settled by another than its gateway or taken back, when a lead is
 * erased.
 */
export class LatestScores {
  private readonly readLatest;
  private readonly fillLatest;
  private readonly eraseLatest;
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
    this.eraseLatest = luaCommand(redis, {
      file: 'shared/latest-scores/erase-lead.lua',
      reply: integerReply,
    });
    this.forgetLeadNow = luaCommand(redis, {
      file: 'shared/latest-scores/forget-lead.lua',
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
   * Notes what MongoDB says of leads that Redis did not know.
   * @param found.generation as it was read before MongoDB was asked
   * @param found.crmIds the leads that MongoDB was asked for; those that are not in `newest` have no score
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
    await this.eraseLatest({
      keys: modelIds.map((modelId) => latestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), latestTtlMs, crmId, `${callIdFloor(nowMs + 1)} `],
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
      keys: modelIds.map((modelId) => latestScoresKey(organisationId, modelId)),
      args: [randomBase62(12), crmId, `${callIdFloor(atMs + 1)} `],
    });
  }

  /** Gives up what is known under some models; the next calls ask MongoDB. */
  async forget(organisationId: string, modelIds: readonly string[]): Promise<void> {
    if (modelIds.length === 0) return;
    await this.redis.unlink(...modelIds.map((modelId) => latestScoresKey(organisationId, modelId)));
  }
}

/** Of a lead that was erased, Redis does not know what calls have left that were under way then: MongoDB is asked. */
function knownScore(entry: string): KnownScore {
  if (entry === '-') return null;
  const space = entry.indexOf(' ');
  if (space < 0 || space === entry.length - 1) return undefined;
  return { id: entry.slice(0, space), score: Number(entry.slice(space + 1)) };
}

/** How long the newest scores of a model are kept after the last call that was settled, in ms. */
export const latestTtlMs = 7 * 24 * 60 * 60 * 1_000;

/** Leads of one model whose newest score is kept, some 120 bytes each; of further ones MongoDB is asked. */
export const maxLatestLeads = 500_000;
