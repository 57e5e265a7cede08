import { expect } from 'chai';
import type { ScoreOutcome } from '../../../api/call/score-outcome.js';
import { scoreReplyWriter } from '../../../api/call/score-reply.js';
import { webhookReplyWriter } from '../../../api/webhook/reply.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { noUsage, scoredPart, scoredRows, scoringCall } from '../../support/scoring/scoring-call.js';

const part = scoredPart([50], {
  ...{ likelihoods: [1_234], matched: [1], previous: [40], warnings: [[0, 'It is old.']] },
  readings: { counts: [0, 1, 1], values: [[0, 1, 'lots', 1]], records: [[0, 1, 'lots']] },
});
const feature = { field: 'size', label: 'Size', type: 'number', columns: [0] } satisfies Feature;
const knownFields = compileKnownFields({ features: [feature] });
const records = [{ crmId: 'L-1', fields: { crm_id: 'L-1', size: 'lots', sise: 3 } }];

function outcomeWith(inputReport?: 'summary' | 'records'): ScoreOutcome {
  const names = knownFields.sentNames();
  for (const name of Object.keys(records[0]?.fields ?? {})) names.targetsOf(name);
  return {
    call: scoringCall({ bucket: 'test', records, ...(inputReport && { inputReport }) }),
    modelVersion: '1',
    rows: {
      ...scoredRows([part]),
      ...(inputReport && { input: { names, model: { id: 'mdl', version: '1', knownFields } } }),
    },
    usage: { ...noUsage, remaining: 7 },
    verdict: { state: 'passed', failing_gate: null, summary: 'It passes.' },
    notices: ['It is odd.'],
  };
}

async function written(write: ReturnType<typeof scoreReplyWriter>, outcome: ScoreOutcome): Promise<string> {
  await write.prepare?.(outcome);
  return write(outcome);
}

const row =
  '"score":50,"conversion_likelihood":0.1234,"enriched":true,"crm_id":"L-1","previous_score":40,"delta":10,' +
  '"warnings":["It is old."]';
const usage = '"usage":{"current":0,"limit":10000,"remaining":7,"in_grace":false,"backstop":20000}';
const validation = '"validation":{"state":"passed","failing_gate":null,"summary":"It passes."}';
const batch =
  `{"model_id":"mdl","model_version":"1","scores":[{${row}}],"records_scored":1,"cache_hits":1,${usage},${validation},` +
  '"test":true,"notices":["It is odd."]}';
const single =
  `{${row},"model_id":"mdl","model_version":"1","test":true,"usage_remaining":"7","validation_state":"passed",` +
  `"validation_summary":"It passes.",${usage},${validation},"notices":["It is odd."]}`;
const input =
  ',"input":{"used":0,"missing":[],"filled":[],"unread":[{"field":"size","value":"lots","reason":"expected a number"}],' +
  '"unseen":[],"ambiguous":[],"ignored":["sise"],"did_you_mean":{}}';
const summary =
  ',"input_summary":{"records":1,"fields":[{"field":"size","sent":1,"unread":1,"unseen":0,"examples":["lots"],' +
  '"reason":"expected a number"}],"ignored":[{"name":"sise","records":1}]}';

for (const [endpoint, writer, text] of [
  ['POST /v1/score', () => scoreReplyWriter('conversion_likelihood'), batch],
  ['a webhook', () => webhookReplyWriter({ likelihoodName: 'conversion_likelihood', forHubSpotAction: false }), single],
] as const)
  describe(`the text of a reply of ${endpoint}`, () => {
    const withSummary = `${text.slice(0, -1)}${summary}}`;

    it('has no report unless the call asks for one', async () => {
      expect(await written(writer(), outcomeWith())).to.equal(text);
    });

    it('ends with the summary', async () => {
      expect(await written(writer(), outcomeWith('summary'))).to.equal(withSummary);
    });

    it('has a report at the end of each row', async () => {
      expect(await written(writer(), outcomeWith('records'))).to.equal(withSummary.replace(row, row + input));
    });
  });
