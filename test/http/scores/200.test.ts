import { expect } from 'chai';
import { rawCall } from '../../support/http/raw-connection.js';
import { refused } from '../../support/http/score-reply.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { type History, read, scoreSizes, scoresOf } from './history.js';

const lead = { company_size: 120, lead_source: 'Referral' };

describe('200 of GET /v1/scores/{crm_id}', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('returns the scores of batches, webhooks and all models, latest first', async () => {
    const other = await own.addModel({ bundle: sampleBundle({ version: '9' }) });
    await scoreSizes(own, { crmId: 'L-1', sizes: [10, 20] });
    await scoreSizes(own, { crmId: 'L-1', sizes: [30], modelId: other._id });
    await own.call('/v1/webhooks/score', {
      body: { model_id: own.model._id, company_size: 40, crm_id: 'L-1' },
    });
    const { crm_id, scores, ...rest } = read<History>(await own.call(scoresOf('L-1')));
    expect(crm_id).to.equal('L-1');
    expect(rest).to.deep.equal({});
    const expected = [40, 30, 20, 10].map((company_size) => ({
      model_id: company_size === 30 ? other._id : own.model._id,
      model_version: company_size === 30 ? '9' : '1.0.0',
      ...sampleAnswer({ company_size }),
    }));
    expect(scores.map(({ scored_at, ...score }) => score)).to.deep.equal(expected);
    const times = scores.map(({ scored_at }) => Date.parse(String(scored_at)));
    expect(times).to.deep.equal([...times].sort((a, b) => b - a));
    const only = read<History>(await own.call(scoresOf('L-1', `?model_id=${other._id}`)));
    expect(only.scores).to.have.length(1);
    expect(read<History>(await own.call(scoresOf('L-1', '?model_id=mdl_none'))).scores).to.deep.equal([]);
    expect(read<History>(await own.call(scoresOf('L-1', '?model_id='))).scores).to.deep.equal(scores);
  });

  it('finds a crm_id of any characters, compared exactly', async () => {
    for (const crmId of ['a/b', 'a b', '100%', 'ä?#&+', '🦊', '..', '%2F', 'a\\b', "'$ne"]) {
      await scoreSizes(own, { crmId, sizes: [5] });
      const headers = { Authorization: `Bearer ${own.live.secret}` };
      // fetch would resolve ".." as the parent folder.
      const reply = await rawCall(service.url(), { method: 'GET', path: scoresOf(crmId), headers });
      expect(read<History>(reply).crm_id).to.equal(crmId);
    }
    refused(await own.call(scoresOf('A/B')), '404 not_found');
    refused(await own.call(scoresOf('a b ')), '404 not_found');
  });

  it('returns 404 to a test key, and to another organisation', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [5] });
    const tested = await own.call(scoresOf('L-1'), { key: own.test });
    expect(refused(tested, '404 not_found').error.message).to.include('use a live key');
    await own.score([{ ...lead, crm_id: 'L-tested' }], { key: own.test });
    refused(await own.call(scoresOf('L-tested')), '404 not_found');
    const other = await workspace(service);
    refused(await other.call(scoresOf('L-1')), '404 not_found');
    refused(await other.call(scoresOf('L-1'), { method: 'DELETE' }), '404 not_found');
    expect(read<History>(await own.call(scoresOf('L-1'))).scores).to.have.length(1);
  });
});

describe('pages of GET /v1/scores/{crm_id}', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  const page = async (query = ''): Promise<History> => read<History>(await own.call(scoresOf('L-1', query)));
  /** The scores on each page; `afterEach` runs between the pages. */
  async function pagesOf(limit: number, afterEach: () => Promise<unknown> = async () => undefined) {
    const pages: unknown[][] = [];
    let query: string | undefined = `?limit=${limit}`;
    while (query !== undefined) {
      const found: History = await page(query);
      pages.push(found.scores.map(({ score }) => score));
      query = found.next_cursor === undefined ? undefined : `?limit=${limit}&cursor=${found.next_cursor}`;
      await afterEach();
    }
    return pages;
  }

  it('returns pages without gaps and repetitions while scores are added', async () => {
    const sizes = Array.from({ length: 7 }, (_, index) => 10 * index);
    await own.score(sizes.map((company_size) => ({ company_size, crm_id: 'L-1' })));
    const pages = await pagesOf(3, () => scoreSizes(own, { crmId: 'L-1', sizes: [500] }));
    const newestFirst = sizes.map((company_size) => sampleAnswer({ company_size }).score).reverse();
    expect(pages).to.deep.equal([newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)]);
  });

  it('returns the same pages when each score is of another call', async () => {
    const sizes = [0, 100, 200, 300, 400];
    await scoreSizes(own, { crmId: 'L-1', sizes });
    const newestFirst = sizes.map((company_size) => sampleAnswer({ company_size }).score).reverse();
    expect(await pagesOf(1)).to.deep.equal(newestFirst.map((score) => [score]));
    expect(await pagesOf(2)).to.deep.equal([newestFirst.slice(0, 2), newestFirst.slice(2, 4), newestFirst.slice(4)]);
  });

  it('returns 50 scores by default, and no next_cursor on the last page', async () => {
    const some = (count: number) => Array.from({ length: count }, () => ({ company_size: 5, crm_id: 'L-1' }));
    await own.score(some(50));
    const full = await page();
    expect([full.scores.length, full.next_cursor]).to.deep.equal([50, undefined]);
    await own.score(some(151));
    expect((await page()).scores).to.have.length(50);
    const { scores, next_cursor } = await page('?limit=200');
    expect(scores).to.have.length(200);
    const last = await page(`?cursor=${next_cursor}`);
    expect([last.scores.length, last.next_cursor]).to.deep.equal([1, undefined]);
  });
});
