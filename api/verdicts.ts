import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import type { StoredVerdict, ValidationStore } from '../shared/store/model-validation.js';
import type { Model } from '../shared/store/models.js';
import { notApplicable, notYetGraded, unresolved, type Verdict } from '../shared/verdict.js';
import { ShortCache } from './short-cache.js';

const rememberedMs = 60_000;
const rememberedVerdicts = 10_000;
const readTimeoutMs = 1_000;
/** A verdict that was computed longer ago claims nothing. */
const staleMs = 72 * 60 * 60 * 1000;

export interface VerdictsOptions {
  readonly validation: ValidationStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The verdict on each model, from one stored document that is remembered for a minute. */
export class Verdicts {
  private readonly cache: ShortCache<StoredVerdict | undefined>;

  constructor(private readonly options: VerdictsOptions) {
    this.cache = new ShortCache({
      ttlMs: rememberedMs,
      capacity: rememberedVerdicts,
      load: (id) => options.validation.find(id, readTimeoutMs),
    });
  }

  /** The verdict on a model's current version; `unresolved` when it cannot be read. Never throws. */
  async of(model: Model): Promise<Verdict> {
    const verdict = await this.withoutOverride(model);
    if (model.override === undefined) return verdict;
    return { ...verdict, summary: `${verdict.summary} An administrator has overridden the deploy policy.` };
  }

  forgetAll(): void {
    this.cache.clear();
  }

  private async withoutOverride(model: Model): Promise<Verdict> {
    if (model.family === 'timing') return notApplicable;
    try {
      const stored = await this.cache.get(`${model._id}:${model.version}`);
      if (stored === undefined) return notYetGraded;
      if (this.options.clock.now() - stored.graded_at.getTime() > staleMs) return unresolved;
      return { state: stored.state, failing_gate: stored.failing_gate, summary: stored.summary };
    } catch (error) {
      this.options.logger.warn({ model: model._id, error }, 'the validation state could not be read');
      return unresolved;
    }
  }
}
