import { expect } from 'chai';
import { scopeOfRoute } from '../../../api/auth/scopes.js';
import { methods } from '../../../api/openapi/openapi-types.js';
import { type HttpCall, httpCall } from '../../support/http/http-call.js';
import { OpenApiContract } from '../../support/http/openapi-contract.js';
import { runningService, startTimeoutMs } from '../../support/service/service.js';
import { jobFileOutcomes, jobOutcomes } from './job-outcomes.js';
import { type Scene, setScene } from './provoked-outcomes.js';
import {
  historyOutcomes,
  lookUpOutcomes,
  makeHistory,
  outcomesOutcomes,
  outcomeWebhookOutcomes,
} from './reading-outcomes.js';
import { batchOutcomes, type Outcomes, webhookOutcomes } from './scoring-outcomes.js';

const operationIds = [
  ...['scoreRecords', 'scoreRecordsLegacy', 'scoreWebhook', 'scoreWebhookLegacy'],
  ...['getUsage', 'getDailyUsage', 'listModels', 'getModel', 'getModelCoverage', 'getScoreHistory', 'eraseScores'],
  ...['recordOutcomes', 'outcomeWebhook'],
  ...['createJob', 'listJobs', 'getJob', 'pauseJob', 'resumeJob', 'cancelJob', 'deleteJob'],
  ...['uploadInput', 'getUploadOffset', 'continueUpload', 'getUploadOptions', 'getResults', 'getErrors'],
];

describe('replies and the OpenAPI document', () => {
  let contract: OpenApiContract;
  let outcomes: Readonly<Record<string, Outcomes>>;
  let stopGone: () => Promise<void>;

  before(async function () {
    this.timeout(startTimeoutMs);
    const service = await runningService();
    const gone = await service.startGateway({ LEGACY_ALIASES: 'gone' });
    stopGone = () => gone.stop();
    const scene = await setScene(service, gone.url ?? '');
    await makeHistory(scene);
    contract = await OpenApiContract.of(service.url());
    outcomes = withoutScopes(outcomesOf(scene), contract, scene);
  });
  after(() => stopGone?.());

  it('covers every operation of the OpenAPI document', () => {
    expect([...contract.operations.keys()]).to.have.members(operationIds);
  });

  for (const operationId of operationIds) {
    it(`returns each documented outcome of ${operationId} as documented, and no other`, async () => {
      const provoked = outcomes[operationId] ?? {};
      expect(documentedOutcomes(contract, operationId)).to.have.members(Object.keys(provoked));
      for (const [outcome, calls] of Object.entries(provoked)) {
        for (const call of calls) {
          const reply = await call();
          expect(outcomeOf(reply), reply.text.slice(0, 300)).to.equal(outcome);
          contract.expectToMatch(operationId, reply);
        }
      }
    });
  }
});

function outcomesOf(scene: Scene): Record<string, Outcomes> {
  const gone = (path: string): Outcomes => ({ '410 gone': [() => httpCall(scene.goneUrl + path, {})] });
  return {
    scoreRecords: batchOutcomes(scene, '/v1/score'),
    scoreRecordsLegacy: { ...batchOutcomes(scene, '/score'), ...gone('/score') },
    scoreWebhook: webhookOutcomes(scene, '/v1/webhooks/score'),
    scoreWebhookLegacy: { ...webhookOutcomes(scene, '/webhooks/score'), ...gone('/webhooks/score') },
    ...lookUpOutcomes(scene),
    ...historyOutcomes(scene),
    recordOutcomes: outcomesOutcomes(scene),
    outcomeWebhook: outcomeWebhookOutcomes(scene),
    ...jobOutcomes(scene),
    ...jobFileOutcomes(scene),
  };
}

/** Adds a call with a key that lacks the scope to each operation that needs one. */
function withoutScopes(
  outcomes: Readonly<Record<string, Outcomes>>,
  { document }: OpenApiContract,
  { service, plain, erasingKey, scoringKey }: Scene,
): Record<string, Outcomes> {
  const refused = Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method): [string, Outcomes][] => {
      const operation = item[method];
      const scope = scopeOfRoute[`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`] ?? 'any';
      if (operation === undefined || scope === 'any') return [];
      const { secret } = scope === 'erase' ? scoringKey : erasingKey;
      const url = service.url() + path.replace('{model_id}', plain.model._id).replace(/\{\w+\}/g, 'any');
      const call = () => httpCall(url, { method: method.toUpperCase() as NonNullable<HttpCall['method']>, secret });
      return [[operation.operationId, { [method === 'head' ? '403' : '403 insufficient_scope']: [call] }]];
    }),
  );
  const added = new Map(refused);
  return Object.fromEntries(Object.entries(outcomes).map(([id, calls]) => [id, { ...calls, ...added.get(id) }]));
}

/** The documented outcomes of an operation: `<status>`, or `<status> <code>` for errors. */
function documentedOutcomes(contract: OpenApiContract, operationId: string): string[] {
  const { responses = {} } = contract.operations.get(operationId) ?? {};
  return Object.entries(responses).flatMap(([status, { content }]) => {
    // Replies to HEAD have no body.
    if (status.startsWith('2') || content === undefined) return [status];
    return Object.keys(content?.['application/json']?.examples ?? {}).map((code) => `${status} ${code}`);
  });
}

function outcomeOf({ status, text }: { readonly status: number; readonly text: string }): string {
  if (status < 300 || text === '') return String(status);
  const { error } = JSON.parse(text) as { readonly error?: { readonly code?: string } };
  return `${status} ${error?.code}`;
}
