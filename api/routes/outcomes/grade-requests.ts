import { requestGrading } from '../../../shared/messages/grading-job.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { gradeDelayMs } from '../../../shared/store/validation/model-validation.js';

const maxOrganisations = 10_000;

/** Asks the worker pools for a grade when outcomes have changed: once a minute for each organisation. */
export class GradeRequests {
  /** When each organisation's last request was made, by the process's clock. */
  private readonly lastMs = new Map<string, number>();

  constructor(private readonly deps: { readonly redis: Redis; readonly logger: Logger }) {}

  /** Without Redis the grade comes later: the pools look for changed outcomes every 15 minutes. */
  request(organisationId: string): void {
    const nowMs = performance.now();
    if (nowMs - (this.lastMs.get(organisationId) ?? Number.NEGATIVE_INFINITY) < gradeDelayMs) return;
    if (this.lastMs.size >= maxOrganisations) this.lastMs.clear();
    this.lastMs.set(organisationId, nowMs);
    const { redis, logger } = this.deps;
    requestGrading(redis, organisationId, gradeDelayMs).catch((error: unknown) =>
      logger.warn({ organisation: organisationId, error }, 'the grade after new outcomes could not be queued'),
    );
  }
}
