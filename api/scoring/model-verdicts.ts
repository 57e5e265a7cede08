import { notApplicable, notYetGraded, unresolved, type Verdict } from '../../shared/contract/verdict.js';
import type { Clock } from '../../shared/process/clock.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Model } from '../../shared/store/models/models.js';
import {
  isAhead,
  type StoredGrade,
  type StoredVerdict,
  type ValidationStore,
} from '../../shared/store/validation/model-validation.js';
import { ShortCache } from './workspace-cache.js';

const rememberedMs = 60_000;
const rememberedVerdicts = 10_000;
const readTimeoutMs = 1_000;
/** A verdict that was computed longer ago claims nothing. */
const staleMs = 72 * 60 * 60 * 1000;

export interface ModelVerdictsOptions {
  readonly validation: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A verdict with the grade that it comes from. */
export interface VerdictDetail extends Verdict {
  /** The clock of the grade, ISO 8601; this and the rest are absent where there is no grade to show. */
  readonly as_of?: string;
  /** When it was computed, ISO 8601. */
  readonly graded_at?: string;
  readonly gates?: StoredGrade['gates'];
  readonly bands?: StoredGrade['bands'];
}

/** The verdict on each model, from one stored document that is remembered for a minute. */
export class ModelVerdicts {
  private readonly cache: ShortCache<StoredVerdict | undefined>;

  constructor(private readonly options: ModelVerdictsOptions) {
    this.cache = new ShortCache({
      ttlMs: rememberedMs,
      capacity: rememberedVerdicts,
      load: (id) => options.validation.find(id, readTimeoutMs),
    });
  }

  /** The verdict on a model's current version; `unresolved` when it cannot be read. Never throws. */
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

  /** The verdict and, when it is one that was stored, what was stored. */
  private async read(model: Model): Promise<{ readonly verdict: Verdict; readonly stored?: StoredVerdict }> {
    if (model.family === 'timing') return { verdict: notApplicable };
    try {
      const stored = await this.cache.get(`${model._id}:${model.version}`);
      if (stored === undefined) return { verdict: notYetGraded };
      const nowMs = this.options.clock.now();
      const isStale = nowMs - stored.graded_at.getTime() > staleMs;
      if (isStale || isAhead(stored, nowMs)) return { verdict: unresolved };
      const { state, failing_gate, summary } = stored;
      return { verdict: { state, failing_gate, summary }, stored };
    } catch (error) {
      this.options.logger.warn({ model: model._id, error }, 'the validation state could not be read');
      return { verdict: unresolved };
    }
  }
}

/** Says in the summary, which stays one sentence, who has overridden the deploy policy, when and why. */
function withOverride(verdict: Verdict, { override }: Model): Verdict {
  if (override === undefined) return verdict;
  const { by, at, reason } = override;
  const since = at.toISOString().slice(0, 10);
  const said = `; the deploy policy is overridden by ${inOneLine(by)} since ${since}: "${inOneLine(reason)}".`;
  return { ...verdict, summary: verdict.summary.replace(/\.$/, '') + said };
}

const inOneLine = (text: string): string => text.trim().replace(/\s+/g, ' ').replace(/\.+$/, '');
