import { expect } from 'chai';
import type { Feature } from '../../../../shared/bundle/manifest/manifest.js';
import { refused, scored, scoredRow } from '../../../support/http/score-reply.js';
import { sampleAnswer } from '../../../support/models/sample-answer.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';

const lead = { company_size: 150, demo_requested: true };
const tagsFeature: Feature = {
  ...{ type: 'multi', field: 'tags', label: 'Tags', categories: ['hot'], columns: [6] },
};
const times = (count: number) => Array.from({ length: count }, () => ({ crm_id: 'L-1' }));

describe('very long fields of POST /v1/score', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service, { bundle: sampleBundle({ features: [...sampleFeatures, tagsFeature] }) });
  });
  const storedLengths = async (): Promise<number[]> =>
    (await own.predictions()).map(({ fields }) => fields?.length ?? 0);

  it('shortens a long stored text without changing any score', async () => {
    const long = { ...lead, lead_source: 'x'.repeat(1_000_000) };
    const first = scoredRow(await own.score([{ ...long, crm_id: 'L-1' }]));
    expect(first.score).to.equal(sampleAnswer({ ...lead, lead_source: 'Fair' }).score);
    const { scores } = scored(await own.score(times(1_000)));
    expect(new Set(scores.map(({ score }) => score))).to.deep.equal(new Set([first.score]));
    expect(Math.max(...(await storedLengths()))).to.be.below(4_200);
  });

  it('fills in at most 4 MiB of stored fields, and returns 400 that names records and fields beyond', async () => {
    const tags = Array.from({ length: 200 }, (_, index) => `${index}${'x'.repeat(9_000)}`);
    const first = scoredRow(await own.score([{ ...lead, tags, crm_id: 'L-1' }]));
    const { scores } = scored(await own.score(times(2)));
    expect(scores.map(({ score }) => score)).to.deep.equal([first.score, first.score]);
    const { error } = refused(await own.score(times(1_000)), '400 bad_request');
    expect(error.message).to.match(
      /^records\[2\]\.tags: expected the field to be sent, or fewer records at once, came nothing: .* 4 MiB together; records\[3\]\.tags: .*; and 987 more\. Nothing of the call was counted\.$/,
    );
    scored(await own.score(times(1_000).map((record) => ({ ...record, tags: 'hot' }))));
  });
});

describe('bodies of POST /v1/score beyond the size of a MongoDB document', function () {
  this.timeout(60_000);
  let service: RunningService;
  let own: TestWorkspace;

  before(async () => {
    service = await runningService({ gateways: 1, environment: { MAX_BODY_BYTES: '67108864' } });
  });
  beforeEach(async () => {
    own = await workspace(service, { bundle: sampleBundle({ features: [...sampleFeatures, tagsFeature] }) });
  });
  after(() => service.stop());
  const long = (index: number, count: number) => ({
    ...{ ...lead, crm_id: `L-${index}` },
    tags: Array.from({ length: count }, () => 'x'.repeat(60_000)),
  });

  it('stores a large batch when each hundred records fit into a document', async () => {
    const records = Array.from({ length: 300 }, (_, index) => long(index, index % 100 === 0 ? 20 : 1));
    scored(await own.score(records));
    expect(await own.predictions()).to.have.length(300);
  });

  it('returns 400 when a hundred records exceed a document, and 200 to concurrent calls', async () => {
    const records = Array.from({ length: 150 }, (_, index) => long(index, index < 100 ? 0 : 6));
    const small = Array.from({ length: 10 }, () => own.score([lead]));
    const { error } = refused(await own.score(records), '400 bad_request');
    expect(error.message).to.equal(
      'records[100] to records[149]: the fields that the model knows have 17.17 MiB with the stored fields filled in; ' +
        'a hundred records may have 15.94 MiB. Send shorter fields. Nothing of the call was counted.',
    );
    for (const reply of await Promise.all(small)) scored(reply);
    expect(await own.predictions()).to.have.length(10);
    expect(await own.ledgerSum()).to.equal(10);
  });
});
