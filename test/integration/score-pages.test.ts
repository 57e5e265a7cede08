import { expect } from 'chai';
import { scored } from '../support/http/score-reply.js';
import { sampleAnswer } from '../support/models/sample-answer.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

interface History {
  readonly scores: readonly { readonly score: number }[];
  readonly next_cursor?: string;
}

describe('GET /v1/scores/{crm_id}, a page at a time,', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  const read = async (query = ''): Promise<History> => {
    const { status, text } = await own.call(`/v1/scores/L-1${query}`);
    expect(status, text).to.equal(200);
    return JSON.parse(text) as History;
  };
  const scoreSizes = async (sizes: readonly number[]) => {
    for (const company_size of sizes) scored(await own.score([{ company_size, crm_id: 'L-1' }]));
  };

  /** All pages of a lead's scores; `afterEach` is done between two of them. */
  async function pagesOf(limit: number, afterEach: () => Promise<unknown> = async () => undefined) {
    const pages: number[][] = [];
    let query: string | undefined = `?limit=${limit}`;
    while (query !== undefined) {
      const page: History = await read(query);
      pages.push(page.scores.map(({ score }) => score));
      query = page.next_cursor === undefined ? undefined : `?limit=${limit}&cursor=${page.next_cursor}`;
      await afterEach();
    }
    return pages;
  }

  it('gives pages that neither repeat nor leave out, while new scores come in', async () => {
    const sizes = Array.from({ length: 7 }, (_, index) => 10 * index);
    await own.score(sizes.map((company_size) => ({ company_size, crm_id: 'L-1' })));
    const pages = await pagesOf(3, () => scoreSizes([500]));
    const newestFirst = sizes.map((company_size) => sampleAnswer({ company_size }).score).reverse();
    expect(pages).to.deep.equal([newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)]);
  });

  it('gives the same pages where each score is of another call', async () => {
    const sizes = [0, 100, 200, 300, 400];
    await scoreSizes(sizes);
    const newestFirst = sizes.map((company_size) => sampleAnswer({ company_size }).score).reverse();
    expect(await pagesOf(1)).to.deep.equal(newestFirst.map((score) => [score]));
    expect(await pagesOf(2)).to.deep.equal([
      newestFirst.slice(0, 2),
      newestFirst.slice(2, 4),
      newestFirst.slice(4),
    ]);
  });

  it('gives 50 unless told otherwise, and no cursor after the last', async () => {
    const some = (count: number) => Array.from({ length: count }, () => ({ company_size: 5, crm_id: 'L-1' }));
    await own.score(some(50));
    const full = await read();
    expect([full.scores.length, full.next_cursor]).to.deep.equal([50, undefined]);
    await own.score(some(151));
    expect((await read()).scores).to.have.length(50);
    const { scores, next_cursor } = await read('?limit=200');
    expect(scores).to.have.length(200);
    const last = await read(`?cursor=${next_cursor}`);
    expect([last.scores.length, last.next_cursor]).to.deep.equal([1, undefined]);
  });
});
