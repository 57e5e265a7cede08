import { LRUCache } from 'lru-cache';
import { notApplicable, notYetGraded, unresolved, type Verdict } from '../../shared/contract/verdict.js';
import type { Clock } from '../../shared/process/clock.js';
import type { Logger } from '../../shared/process/logger.js';
import { type Model, overrideOf } from '../../shared/store/models/models.js';
import {
  isAhead,
  type StoredGrade,
  type StoredVerdict,
  type ValidationStore,
} from '../../shared/store/validation/model-validation.js';

const ttlMs = 60_000;
const maxVerdicts = 10_000;
const readTimeoutMs = 1_000;
/** An older verdict counts as unresolved: grading must have stopped. */
const staleMs = 72 * 60 * 60 * 1000;

export interface ModelVerdictsOptions {
  readonly validation: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A verdict with its grade. The optional members are absent where there is no grade. */
export interface VerdictDetail extends Verdict {
  /** Clock of the grade, ISO 8601. */
  readonly as_of?: string;
  /** Time of the grading job, ISO 8601. */
  readonly graded_at?: string;
  readonly gates?: StoredGrade['gates'];
  readonly bands?: StoredGrade['bands'];
}

/** Reads the stored verdict of each model version, with a cache of one minute. */
export class ModelVerdicts {
  /** Holds an empty object for a version without a verdict. */
  private readonly cache: LRUCache<string, { readonly stored?: StoredVerdict }>;

  constructor(private readonly options: ModelVerdictsOptions) {
    this.cache = new LRUCache({
      max: maxVerdicts,
      ttl: ttlMs,
      // Without this, `clear` rejects the calls that wait for a read.
      ignoreFetchAbort: true,
      fetchMethod: async (id) => {
        const stored = await options.validation.find(id, readTimeoutMs);
        return stored === undefined ? {} : { stored };
      },
    });
  }

  /** The verdict of a model's current version; `unresolved` when it cannot be read. Never throws. */
  async of(model: Model): Promise<Verdict> {
    return withOverride((await this.read(model)).verdict, model);
  }

  /** As `of`, with the gates and their figures. Never throws. */
  async detailOf(model: Model): Promise<VerdictDetail> {
    const { verdict, stored } = await this.read(model);
    const overridden = withOverride(verdict, model);
    if (stored?.grade === undefined) return overridden;
    const { as_of, gates, bands } = stored.grade;
    return {
      ...overridden,
      as_of: as_of.toISOString(),
      graded_at: stored.graded_at.toISOString(),
      gates,
      bands,
    };
  }

  invalidateAll(): void {
    this.cache.clear();
  }

  /** The verdict, with its stored document when it comes from one. */
  private async read(model: Model): Promise<{ readonly verdict: Verdict; readonly stored?: StoredVerdict }> {
    if (model.family === 'timing') return { verdict: notApplicable };
    try {
      const { stored } = (await this.cache.fetch(`${model._id}:${model.version}`)) ?? {};
      if (stored === undefined) return { verdict: notYetGraded };
      const nowMs = this.options.clock.now();
      const isStale = nowMs - stored.graded_at.getTime() > staleMs;
      if (isStale || isAhead(stored, nowMs)) return { verdict: unresolved };
      const { state, failing_gate, summary } = stored;
      return { verdict: { state, failing_gate, summary }, stored };
    } catch (error) {
      this.options.logger.warn({ model: model._id, error }, 'verdict read failed, answering unresolved');
      return { verdict: unresolved };
    }
  }
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
