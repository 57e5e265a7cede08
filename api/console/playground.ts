import { type ActionContext, defineAction } from '../../shared/admin/action.js';
import { AdminError } from '../../shared/admin/admin-error.js';
import { requireModel } from '../../shared/admin/models/read-models.js';
import { playgroundInput, playgroundOutput } from '../../shared/admin/schemas/leads.js';
import { playgroundKeyId } from '../../shared/admin/usage/first-run.js';
import type { Feature } from '../../shared/bundle/manifest/manifest.js';
import { isoInstant } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { daysAgoText } from '../../shared/contract/figures.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import type { ShapeOf } from '../../shared/contract/schema.js';
import { redisNowMs } from '../../shared/redis/connect.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import { loadStoredManifest } from '../../shared/store/models/model-versions.js';
import { reasonText, scoreReplyWriter } from '../call/score-reply.js';
import { answerInTime, type ScoringCall } from '../call/scoring-call.js';
import type { Connections, ScoringProcess } from '../connections.js';
import { scoreRecords } from '../score-records.js';
import type { ScoringServices } from '../services.js';
import { unknownFields } from './unknown-fields.js';

const writeReply = scoreReplyWriter('conversion_likelihood');

/** The members of a score reply that the playground shows. */
interface PlaygroundReply {
  readonly model_version: string;
  readonly scores: readonly {
    readonly score: number;
    readonly conversion_likelihood: number;
    readonly drivers?: readonly {
      readonly field: string;
      readonly label: string;
      readonly value: string;
      readonly contribution: string;
      readonly direction: 'positive' | 'negative';
    }[];
    readonly warnings?: readonly string[];
    readonly input: ShapeOf<typeof playgroundOutput>['input'];
    readonly [reason: `top_reason_${number}`]: string | null;
  }[];
  readonly usage: { readonly current: number; readonly limit: number };
}

/**
 * The action that scores one record as a gateway does, with the workers of the installation. The call counts in the
 * test bucket, and its prediction is not recorded.
 */
export function playgroundAction({ config }: ScoringProcess, { commands }: Connections, scoring: ScoringServices) {
  const timeoutMs = config.requestTimeoutMs;
  const newCallId = callIdGenerator();
  return defineAction({
    name: 'playground.score',
    description: 'Score one record with reasons. It counts in the test bucket, and its prediction is not recorded.',
    role: 'admin',
    effect: 'read',
    input: playgroundInput,
    output: playgroundOutput,
    async run(context, { org_id: organisationId, model_id: modelId, fields }) {
      await requireModel(context, { org_id: organisationId, model_id: modelId });
      if (Object.keys(fields).length === 0)
        throw new AdminError('invalid_request', 'The record is empty. Fill in at least one field, then score it.');
      const atMs = context.clock.now();
      const arrivedRedisMs = await redisNowMs(commands);
      const call: ScoringCall = {
        ...{ id: newCallId(atMs, organisationId), requestId: context.requestId, modelId, atMs },
        apiKey: keyOf(organisationId),
        bucket: 'test',
        records: [{ crmId: null, fields }],
        nameOfRecord: () => 'fields',
        explain: true,
        inputReport: 'records',
        lane: 'singles',
        idempotency: undefined,
        deadline: {
          monotonicMs: performance.now() + timeoutMs,
          redisMs: arrivedRedisMs + timeoutMs,
          arrivedRedisMs,
        },
        hasHungUp: () => false,
      };
      const reply = await answerInTime(call, () => scoreRecords(call, writeReply, scoring)).catch(
        async (error: unknown) => {
          const isRefused = error instanceof ApiError && error.errorName === 'refusedRequest';
          // It reads the databases again. Its failure must not replace the refusal.
          throw (isRefused && (await unknownFields(call, fields, scoring).catch(() => undefined))) || error;
        },
      );
      return await documentOf(context, modelId, JSON.parse(reply.body) as PlaygroundReply);
    },
  });
}

async function documentOf(
  { database, clock }: ActionContext,
  modelId: string,
  { model_version: version, scores, usage }: PlaygroundReply,
) {
  const [row] = scores;
  if (row === undefined) throw new Error('the reply has no score');
  const stored = await loadStoredManifest(database, modelId, version);
  const ageOf = agesOf(stored?.manifest.features ?? [], clock.now());
  const reasons = [row.top_reason_1, row.top_reason_2, row.top_reason_3].filter((reason) => typeof reason === 'string');
  return {
    score: row.score,
    conversion_likelihood: row.conversion_likelihood,
    base_rate: stored?.manifest.validation?.base_rate ?? null,
    explain_method: stored?.explainMethod ?? 'occlusion',
    drivers: (row.drivers ?? []).map((driver) => ({
      ...driver,
      value: ageOf(driver) ?? driver.value,
      contribution: Number(driver.contribution),
    })),
    reasons: reasons.map((reason, rank) => {
      const driver = row.drivers?.[rank];
      const age = driver && ageOf(driver);
      if (driver === undefined || age === undefined) return reason;
      return reasonText(`${driver.label}: ${age}`, driver.direction === 'negative');
    }),
    warnings: row.warnings ?? [],
    input: inputOf(row.input),
    usage: { current: usage.current, limit: usage.limit },
  };
}

/**
 * Says of the value of a date field how long ago it was, because the model reads its age. Undefined for other fields,
 * and for dates that are not ISO 8601.
 */
function agesOf(features: readonly Pick<Feature, 'field' | 'type'>[], nowMs: number) {
  const dates = new Set(features.flatMap(({ field, type }) => (type === 'date' ? [field] : [])));
  return ({ field, value }: { readonly field: string; readonly value: string }): string | undefined => {
    const at = dates.has(field) ? isoInstant(value.trim()) : undefined;
    return at && daysAgoText(at.getTime(), nowMs);
  };
}

/** The report of a record without the lists that the page does not show. */
const inputOf = ({
  used,
  unread,
  unseen,
  ambiguous,
  ignored,
  did_you_mean,
  more,
}: PlaygroundReply['scores'][number]['input']) => ({
  ...{ used, unread, unseen, ambiguous, ignored, did_you_mean },
  ...(more && { more }),
});

const keyOf = (organisationId: string): ApiKey => ({
  _id: playgroundKeyId,
  hash: '',
  organisation_id: organisationId,
  kind: 'test',
  name: 'Playground',
  rate_per_second: 1,
  created_at: new Date(0),
});
