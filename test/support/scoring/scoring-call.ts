import type { ScoredRows } from '../../../api/call/score-outcome.js';
import type { AdmittedModel, Deadline, ScoringCall } from '../../../api/call/scoring-call.js';
import type { ScoredCall } from '../../../api/record/documents.js';
import { allowanceOf, usageReport } from '../../../shared/contract/plans.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { ScoredPart } from '../../../shared/messages/score-job.js';
import type { UsageCounter } from '../../../shared/redis/keys.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';
import { organisationOf } from './stored-documents.js';

const created_at = new Date(0);

export const keyOf = (organisation_id: string, more: Partial<ApiKey> = {}): ApiKey => ({
  ...{ _id: 'key', hash: 'hash', organisation_id, kind: 'live', name: 'Key', rate_per_second: 10, created_at },
  ...more,
});

export const deadlineIn = (leftMs: number, more: Partial<Deadline> = {}): Deadline => ({
  ...{ monotonicMs: performance.now() + leftMs, redisMs: 0, arrivedRedisMs: 0 },
  ...more,
});

/** A batch of one record without fields, with a live key and five seconds left, unless `more` tells otherwise. */
export const scoringCall = (more: Partial<ScoringCall> = {}): ScoringCall => ({
  ...{ id: 'call', requestId: 'req', apiKey: keyOf('org'), bucket: 'live', modelId: 'mdl', lane: 'batches' },
  records: [{ crmId: null, fields: {} }],
  nameOfRecord: (index) => `records[${index}]`,
  ...{ explain: false, idempotency: undefined, atMs: 0, deadline: deadlineIn(5_000), hasHungUp: () => false },
  ...more,
});

/** A model without fields, as it was admitted. */
export const emptyModel: AdmittedModel = { id: 'mdl', version: '1', knownFields: compileKnownFields({ features: [] }) };

/** The scores of a part of new leads, unless `more` tells otherwise. */
export const scoredPart = (scores: readonly number[], more: Partial<ScoredPart> = {}): ScoredPart => ({
  scores,
  ...{ likelihoods: scores.map(() => 0), matched: scores.map(() => 0), previous: scores.map(() => null) },
  ...{ warnings: [], filled: [], readings: { counts: [], values: [] } },
  ...more,
});

export const scoredRows = (parts: readonly ScoredPart[], fields: readonly string[] = []): ScoredRows => ({
  ...{ parts, fields, refused: [] },
});

/** The usage of an organisation that has used nothing. */
export const noUsage = usageReport(0, allowanceOf(organisationOf(), 'live'));

export const reservationIn = (counter: UsageCounter): ScoredCall['reservation'] => ({
  ...{ counter, usageIfSettled: noUsage },
});
