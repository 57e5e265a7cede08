import { expect } from 'chai';
import { CallDays } from '../../../api/http/call-days.js';
import type { CallDay } from '../../../shared/store/console/call-days.js';
import { keyOf } from '../../support/scoring/scoring-call.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

describe('the calls by day of a gateway', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
  });

  it('are stored by key and model when it stops, with records, errors and latencies', async function () {
    this.timeout(startTimeoutMs);
    const gateway = await service.startGateway();
    const { url = '' } = gateway;
    await own.score([{ company_size: 5 }, { company_size: 6 }], { url });
    await own.score([{ company_size: 5 }], { url, key: own.test });
    await own.post({ model_id: 'mdl_none', records: [{}] }, { url });
    await own.post('{', { url });
    await own.call('/v1/usage', { url });
    await own.call('/v1/score', { url, method: 'POST', body: {}, key: { ...own.live, secret: 'unknown' } });
    await gateway.stop();
    const days = service.stores.database.collection<CallDay>('call_days');
    const found = await days.find({ org: own.id }).sort({ calls: 1, bucket: 1 }).toArray();
    const live = own.live.key._id;
    expect(
      found.map(({ key, bucket, model, calls, records, errors }) => ({ key, bucket, model, calls, records, errors })),
    ).to.deep.equal([
      { key: live, bucket: 'live', model: own.model._id, calls: 1, records: 2, errors: undefined },
      { key: own.test.key._id, bucket: 'test', model: own.model._id, calls: 1, records: 1, errors: undefined },
      { key: live, bucket: 'live', model: '', calls: 2, records: 0, errors: { model_not_found: 1, bad_request: 1 } },
    ]);
    for (const { latency = {}, calls, last_at: last } of found) {
      expect(Object.values(latency).reduce((sum, count) => sum + count, 0)).to.equal(calls);
      expect(Math.abs(last.getTime() - service.clock.now())).to.be.below(60_000);
    }
  });
});

describe('CallDays', () => {
  it('adds counts that were not stored to those of the next time', async () => {
    const apiKey = keyOf('org_a', { _id: 'key_a' });
    const refused = { apiKey, scored: undefined, errorCode: 'model_not_found', latencyMs: 5 };
    const scored = { apiKey, scored: { modelId: 'mdl_a', records: 2 }, errorCode: undefined, latencyMs: 5 };
    const stored: Omit<CallDay, '_id'>[] = [];
    let [isAway, refuses] = [true, true];
    const add = async <Day extends Omit<CallDay, '_id'>>(written: readonly Day[]): Promise<readonly Day[]> => {
      // Another call ends while the counts are written.
      if (isAway) days.count(refused);
      if (isAway) throw new Error('MongoDB is away');
      const left = written.filter(({ model }) => refuses && model === '');
      stored.push(...written.filter((each) => !left.includes(each)));
      return left;
    };
    const days = new CallDays({
      store: { add },
      clock: { now: () => 0 },
      logger: { warn: () => undefined },
      writeEveryMs: 60_000,
    });
    days.count(refused);
    days.count({ ...refused, errorCode: undefined });
    days.count(scored);
    await days.write();
    isAway = false;
    await days.write();
    refuses = false;
    await days.stop();
    const counts = stored.map(({ calls, errors, latency }) => ({ calls, errors, latency }));
    expect(counts).to.deep.equal([
      { calls: 1, errors: {}, latency: { 7: 1 } },
      { calls: 3, errors: { model_not_found: 2 }, latency: { 7: 3 } },
    ]);
  });
});
