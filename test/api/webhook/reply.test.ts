import { expect } from 'chai';
import type { ScoreOutcome } from '../../../api/call/score-outcome.js';
import { webhookReplyWriter } from '../../../api/webhook/reply.js';
import { noUsage, scoredPart, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';

/** A scored record with one reason and one warning. */
const outcome: ScoreOutcome = {
  call: scoringCall({ records: [{ crmId: 'L-1', fields: {} }] }),
  modelVersion: '2026-10-02',
  rows: scoredRows([
    scoredPart([50], {
      likelihoods: [1_234],
      warnings: [[0, 'a field is odd']],
      explained: { method: 'tree', fields: [['size', 'Size']], drivers: [[0, 4_071, '5']] },
    }),
  ]),
  usage: { ...noUsage, remaining: 7 },
  verdict: { state: 'passed', failing_gate: null, summary: 'It passes.' },
  notices: [],
};

const written = (forHubSpotAction: boolean, of = outcome) =>
  JSON.parse(webhookReplyWriter({ likelihoodName: 'conversion_likelihood', forHubSpotAction })(of)) as {
    readonly outputFields?: Readonly<Record<string, unknown>>;
  };

describe('webhookReplyWriter', () => {
  it('repeats every flat member in outputFields, including null reasons, without arrays and objects', () => {
    const { outputFields, ...reply } = written(true);
    expect(reply).to.not.have.property('notices');
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
      validation_state: 'passed',
      validation_summary: 'It passes.',
      hs_execution_state: 'SUCCESS',
    });
  });

  it('lists notices beside outputFields, not in them', () => {
    const notices = ['"explian" is unknown.'];
    const { outputFields, ...reply } = written(true, { ...outcome, notices });
    expect(reply).to.deep.include({ notices });
    expect(outputFields).to.not.have.property('notices');
  });
});
