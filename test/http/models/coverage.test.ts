import { expect } from 'chai';
import type { Coverage } from '../../../shared/store/models/coverage.js';
import { FieldDayStore } from '../../../shared/store/models/field-days.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, startTimeoutMs } from '../../support/service/service.js';
import { type CallOptions, onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { describeBadInputs, readingCall, rowsAs } from '../bad-inputs/bad-input.js';
import { read } from '../scores/history.js';

interface CoverageReply extends Coverage {
  readonly model_id: string;
  readonly model_version: string;
}

const badDays = /days must be a whole number from 1 to 90/;

describeBadInputs(
  '4xx of GET /v1/models/{model_id}/coverage',
  rowsAs('422 bad_request', [
    ['days=0', (rig) => readingCall(`/v1/models/${rig.own.model._id}/coverage?days=0`)(rig), badDays],
    ['days=91', (rig) => readingCall(`/v1/models/${rig.own.model._id}/coverage?days=91`)(rig), badDays],
    ['empty days', (rig) => readingCall(`/v1/models/${rig.own.model._id}/coverage?days=`)(rig), badDays],
  ]),
);

describe('200 of GET /v1/models/{model_id}/coverage', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  const coverage = async (query = '', options: CallOptions = {}): Promise<CoverageReply> =>
    read<CoverageReply>(await own.call(`/v1/models/${own.model._id}/coverage${query}`, options));
  const fieldOf = ({ fields }: CoverageReply, name: string) => fields.find(({ field }) => field === name);

  it('sums up what both gateways scored, without calls of test keys, refused calls and replays', async function () {
    this.timeout(startTimeoutMs);
    const unseen = { company_size: 'lots', lead_source: 'Trade fair' };
    scored(await own.score([unseen, { company_size: 5, lead_source: 'Webinar' }], { gateway: 0 }));
    scored(await own.score([{ ...unseen, crm_id: 'L-1' }], { gateway: 1 }));
    scored(await own.score([{ demo_requested: true, crm_id: 'L-1' }], { gateway: 1 }));
    scored(await own.score([unseen], { key: own.test }));
    expect((await own.score([unseen, { unknown: 1 }])).status).to.equal(400);
    const body = { model_id: own.model._id, records: [{ demo_requested: false }] };
    for (let time = 0; time < 3; time += 1)
      scored(await own.post(body, { headers: { 'idempotency-key': 'once' }, gateway: time % 2 }));
    const reply = await eventually(async () => {
      const found = await coverage();
      expect(found.days.at(-1)?.records).to.equal(5);
      return found;
    }, 30_000);
    expect(reply).to.include({ model_id: own.model._id, model_version: own.model.version });
    expect(reply.days).to.have.length(7);
    const { by_day: byDay, ...source } = fieldOf(reply, 'lead_source') ?? {};
    const counts = { sent: 3, missing: 1, filled: 1, unread: 0 };
    expect(source).to.deep.equal({
      ...{ field: 'lead_source', ...counts, unseen: 3 },
      unseen_values: [{ value: 'Trade fair', records: 3 }],
    });
    expect(byDay?.at(-1)).to.deep.equal({ day: reply.days.at(-1)?.day, ...counts, unseen: 3 });
    expect(byDay?.[0]).to.deep.include({ sent: 0, missing: 0, unseen: 0 });
    expect(fieldOf(reply, 'company_size')).to.include({ sent: 3, missing: 1, unread: 3, unseen: 0 });
    expect(fieldOf(reply, 'demo_requested')).to.include({ sent: 2, missing: 3, unread: 0 });
    const ofTestKey = fieldOf(await coverage('', { key: own.test }), 'lead_source');
    expect([ofTestKey?.unseen, ofTestKey?.unseen_values]).to.deep.equal([3, []]);
  });

  it('is complete after a gateway has stopped', async function () {
    this.timeout(startTimeoutMs);
    const gateway = await service.startGateway({ TEST_TIMINGS_PERCENT: '100' });
    scored(await own.score([{ lead_source: 'Trade fair' }], { url: gateway.url }));
    expect((await coverage('?days=1')).days[0]?.records).to.equal(0);
    await gateway.stop();
    const reply = await coverage('?days=1');
    expect(reply.days).to.deep.equal([{ day: reply.days[0]?.day, records: 1 }]);
    expect(fieldOf(reply, 'lead_source')?.unseen_values).to.deep.equal([{ value: 'Trade fair', records: 1 }]);
  });

  it('reads the current version, or the named one, of its own organisation alone', async () => {
    const other = await workspace(service);
    refused(await other.call(`/v1/models/${own.model._id}/coverage`), '404 model_not_found');
    const path = `/v1/models/${own.model._id}/coverage`;
    refused(await own.call(`${path}?version=none`), '404 model_not_found');
    const day = Math.floor(service.clock.now() / 86_400_000);
    const sums = { org: own.id, model: own.model._id, counts: new Map(), values: new Map() };
    const store = new FieldDayStore(service.stores.database);
    await store.add([
      { ...sums, version: own.model.version, day, records: 2 },
      { ...sums, version: own.model.version, day: day - 1, records: 3 },
      { ...sums, version: own.model.version, day: day - 7, records: 50 },
      { ...sums, version: `${own.model.version}:x`, day, records: 500 },
      { ...sums, org: other.id, version: own.model.version, day, records: 5_000 },
    ]);
    for (const query of ['', `?version=${own.model.version}`, '?version=']) {
      const { days, fields } = await coverage(query);
      expect(days.map(({ records }) => records)).to.deep.equal([0, 0, 0, 0, 0, 3, 2]);
      expect(fields.map(({ sent }) => sent)).to.deep.equal([5, 5, 5]);
    }
    expect((await coverage('?days=8')).days[0]?.records).to.equal(50);
  });

  it('refuses more days than a reply can hold for a model with thousands of fields', async () => {
    const width = 4_000;
    const features = Array.from({ length: width }, (_, column) => ({
      ...{ field: `f${column}`, label: `f${column}`, type: 'number' as const, columns: [column], impute: 0 },
    }));
    const { _id: id } = await own.addModel({ bundle: sampleBundle({ features }) });
    refused(await own.call(`/v1/models/${id}/coverage?days=6`), '422 bad_request');
    const { days, fields } = read<CoverageReply>(await own.call(`/v1/models/${id}/coverage`));
    expect(fields).to.have.length(width);
    expect(days, 'fewer than the usual seven').to.have.length(5);
  });
});
