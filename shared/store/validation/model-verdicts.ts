import { Batcher } from '../../async/batcher.js';
import { type Clock, lastNightMs, minuteText, nextNightMs } from '../../contract/dates.js';
import {
  type GateResult,
  notApplicable,
  notYetGraded,
  ungradedGates,
  unresolved,
  type Verdict,
} from '../../contract/verdict.js';
import type { Logger } from '../../process/logger.js';
import { FollowedCache } from '../connection/followed-cache.js';
import { type Model, overrideOf } from '../models/models.js';
import {
  isAhead,
  lastCheckMs,
  type StoredGrade,
  type StoredVerdict,
  type ValidationStore,
} from './model-validation.js';

const maxVerdictBytes = 64 * 1024 * 1024;
/** Longer than for other data: a verdict changes once a night, and an old one holds while MongoDB does not answer. */
const unfollowedMs = 60_000;
const readTimeoutMs = 1_000;
const maxIdsPerRead = 1_000;
/** An older verdict still holds, but its summary says since when it is: grading must have stopped. */
const lateMs = 72 * 60 * 60 * 1000;

export interface ModelVerdictsOptions {
  readonly validation: Pick<ValidationStore, 'findAll'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the change log is followed; see `FollowedCache`. */
  readonly isFollowing?: () => boolean;
}

/** A verdict with its grade. The optional members are absent where there is no grade. */
export interface VerdictDetail extends Verdict {
  /** Clock of the grade, ISO 8601. */
  readonly as_of?: string;
  /** Time of the grading job, ISO 8601. */
  readonly graded_at?: string;
  /** The six gates, also before the first grade; absent when nothing is claimed or graded. */
  readonly gates?: readonly GateResult[];
  readonly bands?: StoredGrade['bands'];
}

/** A verdict, and what is behind it. */
export interface Standing {
  readonly verdict: Verdict;
  /** As of `VerdictDetail`. */
  readonly gates?: readonly GateResult[];
  /** Absent when the verdict does not come from a document. */
  readonly stored?: StoredVerdict;
  /** The read failed: a gateway may still know the verdict. */
  readonly isUnread?: true;
}

/** The result of a read; without `stored` for a version that has no verdict. */
interface ReadVerdict {
  readonly stored?: StoredVerdict;
}

/** Reads the stored verdict of each model version, with a cache. */
export class ModelVerdicts {
  private readonly cache: FollowedCache<ReadVerdict>;

  constructor(private readonly options: ModelVerdictsOptions) {
    const reads = new Batcher<string, ReadVerdict>({ run: (ids) => this.readStored(ids), maxItems: maxIdsPerRead });
    this.cache = new FollowedCache({
      maxBytes: maxVerdictBytes,
      bytesOf: (read) => 2 * JSON.stringify(read).length,
      isFollowing: options.isFollowing,
      unfollowedMs,
      keepsOnFailure: true,
      read: (id) => reads.add('', id),
    });
  }

  /** The verdict of a model's current version; `unresolved` when it cannot be read. Never throws. */
  async of(model: Model): Promise<Verdict> {
    return withOverride((await this.read(model)).verdict, model);
  }

  /** As `of`, with the gates and their figures. Never throws. */
  async detailOf(model: Model): Promise<VerdictDetail> {
    const { verdict, gates, stored } = await this.read(model);
    const overridden = { ...withOverride(verdict, model), ...(gates && { gates }) };
    if (stored?.grade === undefined) return overridden;
    const { as_of, bands } = stored.grade;
    return { ...overridden, as_of: as_of.toISOString(), graded_at: stored.graded_at.toISOString(), bands };
  }

  invalidateAll(): void {
    this.cache.clear();
  }

  /** Drops the verdict of one version: `<model>:<version>`. */
  forget(id: string): void {
    this.cache.forget(id);
  }

  private async readStored(ids: readonly string[]): Promise<ReadVerdict[]> {
    const { validation, logger } = this.options;
    const found = await validation.findAll(ids, readTimeoutMs).catch((error: unknown) => {
      logger.warn(
        { verdicts: ids.length, error },
        'verdicts not read: the last known ones hold, others are unresolved',
      );
      throw error;
    });
    const byId = new Map(found.map((stored) => [stored._id, stored]));
    return ids.map((id) => {
      const stored = byId.get(id);
      return stored === undefined ? {} : { stored };
    });
  }

  /** The verdict without an override, with the document that it comes from. Never throws. */
  async read(model: Model): Promise<Standing> {
    if (model.family === 'timing') return { verdict: notApplicable };
    const read = await this.cache.get(`${model._id}:${model.version}`);
    if (read === undefined) return { verdict: unresolved, isUnread: true };
    const { stored } = read;
    if (stored === undefined) return { verdict: notYetGraded, gates: ungradedGates };
    const nowMs = this.options.clock.now();
    if (isAhead(stored, nowMs)) return { verdict: unresolved };
    const { state, failing_gate, summary } = stored;
    const verdict = { state, failing_gate, summary };
    const gates = stored.grade?.gates;
    const isLate = nowMs - lastCheckMs(stored) > lateMs;
    const dated = isLate ? withAge(verdict, stored) : withNextGrade(verdict, stored, nowMs);
    return { verdict: dated, stored, ...(gates && { gates }) };
  }
}

/** Adds to the summary when the verdict was computed. The summary stays one sentence. */
function withAge(verdict: Verdict, { graded_at: gradedAt }: StoredVerdict): Verdict {
  const since = `; this verdict is of ${gradedAt.toISOString().slice(0, 10)}, and no grade has followed.`;
  return { ...verdict, summary: verdict.summary.replace(/\.$/, '') + since };
}

/**
 * Adds to the summary of an early verdict until when data counts, and which grade counts newer data. The summary stays
 * one sentence.
 */
function withNextGrade(verdict: Verdict, stored: StoredVerdict, nowMs: number): Verdict {
  if (verdict.state !== 'too_early_to_grade' || stored.grade === undefined) return verdict;
  const isDue = stored.checked?.hasNews === true || lastCheckMs(stored) < lastNightMs(nowMs);
  const next = isDue
    ? 'that is due now'
    : `after ${minuteText(nextNightMs(nowMs))}, or half an hour after new outcomes`;
  const counted = `; data until ${minuteText(stored.grade.as_of.getTime())} counts, newer data from the grade ${next}.`;
  return { ...verdict, summary: verdict.summary.replace(/\.$/, '') + counted };
}

/** Adds to the summary who overrode the deploy policy, when and why. The summary stays one sentence. */
function withOverride(verdict: Verdict, model: Model): Verdict {
  const override = overrideOf(model);
  if (override === undefined) return verdict;
  const { by, at, reason } = override;
  const since = at.toISOString().slice(0, 10);
  const said = `; the deploy policy is overridden by ${inOneLine(by)} since ${since}: "${inOneLine(reason)}".`;
  return { ...verdict, summary: verdict.summary.replace(/\.$/, '') + said };
}

const inOneLine = (text: string): string => text.trim().replace(/\s+/g, ' ').replace(/\.+$/, '');
