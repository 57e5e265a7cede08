import { expect } from 'chai';
import type { ScoreOutcome } from '../../../api/score-records.js';
import { webhookReplyWriter } from '../../../api/webhook/reply.js';

/** A scored record with one reason and one warning. */
const outcome = {
  call: { bucket: 'live', modelId: 'mdl', records: [{ crmId: 'L-1', fields: {} }] },
  modelVersion: '2026-10-02',
  rows: {
    parts: [
      {
        scores: [50],
        likelihoods: [1_234],
        matched: [0],
        previous: [null],
        warnings: [[0, 'a field is odd']],
        explained: { method: 'tree', fields: [['size', 'Size']], drivers: [[0, 4_071, '5']] },
      },
    ],
    fields: [],
  },
  usage: { remaining: 7 },
  verdict: { state: 'passing', summary: 'It passes.' },
} as unknown as ScoreOutcome;

const written = (forHubSpotAction: boolean) =>
  JSON.parse(webhookReplyWriter({ likelihoodName: 'conversion_likelihood', forHubSpotAction })(outcome)) as {
    readonly outputFields?: Readonly<Record<string, unknown>>;
  };

describe('webhookReplyWriter', () => {
  it('repeats every flat member in outputFields, including null reasons, without arrays and objects', () => {
    const { outputFields, ...reply } = written(true);
    expect(reply).to.deep.equal(written(false)).and.to.include.keys('drivers', 'warnings', 'usage');
    expect(outputFields).to.deep.equal({
      score: 50,
      conversion_likelihood: 0.1234,
      enriched: false,
      crm_id: 'L-1',
      top_reason_1: 'Size is 5 (raises the score)',
      top_reason_2: null,
      top_reason_3: null,
      model_id: 'mdl',
      model_version: '2026-10-02',
      usage_remaining: '7',
      validation_state: 'passing',
      validation_summary: 'It passes.',
      hs_execution_state: 'SUCCESS',
    });
  });
});
