import { expect } from 'chai';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import { type ScoreRow, scored } from '../../../support/http/score-reply.js';
import { readGoldenBundle, requireReferenceBundles } from '../../../support/models/golden-records.js';
import { sampleAnswer } from '../../../support/models/sample-answer.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { workspace } from '../../../support/service/workspace.js';

const answerOf = ({ score, conversion_likelihood }: ScoreRow) => ({ score, conversion_likelihood });

describe('batches of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  it('returns 1000 rows in request order, although they travel in four chunks', async () => {
    const own = await workspace(service);
    // Neighbouring sizes differ widely, so that swapped rows cannot have the same score.
    const sizes = Array.from({ length: 1000 }, (_, row) => (row * 379) % 500);
    const records = sizes.map((company_size, row) => ({ company_size, crm_id: `L-${row}` }));
    const { scores, records_scored } = scored(await own.score(records));
    expect(records_scored).to.equal(1000);
    expect(scores.map((row) => row.crm_id)).to.deep.equal(records.map((record) => record.crm_id));
    for (const [row, company_size] of sizes.entries()) {
      const { conversion_likelihood } = sampleAnswer({ company_size });
      expect(scores[row]?.conversion_likelihood, `row ${row}`).to.be.closeTo(conversion_likelihood, 1.01e-4);
    }
    const predictions = await own.predictions();
    expect(predictions.map(({ crm_id, score }) => ({ crm_id, score }))).to.deep.equal(
      scores.map(({ crm_id, score }) => ({ crm_id, score })),
    );
  });

  it('names the version that scored all rows, also while another version becomes the current one', async () => {
    const own = await workspace(service, { plan: 'enterprise' });
    const reversed = sampleBundle({ version: '2.0.0', weights: [-0.01, -1, -0.25, -0.75, 0.25, 0.5], intercept: 0.5 });
    const records = Array.from({ length: 1000 }, () => ({ company_size: 185 }));
    const { score } = sampleAnswer({ company_size: 185 });
    const named = new Set<string>();
    const call = async (gateway: number): Promise<void> => {
      const { model_version: version, scores } = scored(await own.score(records, { gateway }));
      named.add(version);
      const expected = version === '1.0.0' ? score : 100 - score;
      expect([...new Set(scores.map((row) => row.score))], version).to.deep.equal([expected]);
    };
    await call(0);
    const calls = [0, 1].map(async (gateway) => {
      while (!named.has('2.0.0')) await call(gateway);
    });
    await Promise.all([own.addVersion(reversed), ...calls]);
    expect([...named]).to.deep.equal(['1.0.0', '2.0.0']);
  });

  it('returns the golden scores of a real model for 1000 records, cold and enriched', async function () {
    this.timeout(60_000);
    for (const directory of requireReferenceBundles(this)) {
      const golden = readGoldenBundle(directory);
      const own = await workspace(service, { bundle: await readBundle(directory), plan: 'enterprise' });
      const expected = Array.from({ length: 1000 }, (_, row) => golden.records[row % golden.records.length]);
      const records = expected.map((line, row) => ({ ...line?.record, crm_id: `L-${row}` }));
      const answers = expected.map((line) => ({
        score: line?.score,
        conversion_likelihood: line?.conversion_likelihood,
      }));
      const cold = scored(await own.score(records));
      expect(cold.scores.map(answerOf), golden.name).to.deep.equal(answers);
      const again = scored(await own.score(records));
      expect(again.scores.map(answerOf), golden.name).to.deep.equal(answers);
      expect(again.cache_hits).to.equal(1000);
    }
  });

  it('returns the same answer in batches of one and two, alone and concurrently', async () => {
    const own = await workspace(service);
    const leads = Array.from({ length: 40 }, (_, index) => ({
      company_size: 7 * index,
      lead_source: 'Webinar',
    }));
    const replies = await Promise.all(leads.map((lead) => own.score([lead])));
    expect(replies.flatMap((reply) => scored(reply).scores.map(answerOf))).to.deep.equal(leads.map(sampleAnswer));
    const pairs = await Promise.all(leads.map((lead, index) => own.score([lead, leads.at(-index) ?? lead])));
    expect(pairs.map((reply) => scored(reply).scores.map(answerOf)[0])).to.deep.equal(leads.map(sampleAnswer));
  });

  it('stores each row with its band, likelihood and scored fields', async () => {
    const own = await workspace(service);
    scored(
      await own.score([
        { company_size: 300, note: 'private' },
        { lead_source: 'web seminar', crm_id: 'L-1' },
      ]),
    );
    const [call] = await own.ledgerRows();
    const predictions = await own.predictions();
    expect(predictions.map(({ at, ...rest }) => rest)).to.deep.equal([
      {
        _id: `${call?._id}.0000`,
        org: own.id,
        model: own.model._id,
        version: '1.0.0',
        score: 88,
        likelihood: 8808,
        band: 4,
        fields: '[300,null,null]',
      },
      {
        _id: `${call?._id}.0001`,
        org: own.id,
        crm_id: 'L-1',
        model: own.model._id,
        version: '1.0.0',
        score: 44,
        likelihood: 4378,
        band: 2,
        fields: '[null,null,"web seminar"]',
      },
    ]);
  });
});
