import { expect } from 'chai';
import { CallHours } from '../../../api/http/call-hours.js';
import type { CallHour } from '../../../shared/store/console/call-hours.js';
import { keyOf } from '../../support/scoring/scoring-call.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

describe('the calls by hour of a gateway', () => {
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
    const hours = service.stores.database.collection<CallHour>('call_hours');
    const found = await hours.find({ org: own.id }).sort({ calls: 1, bucket: 1 }).toArray();
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

describe('CallHours', () => {
  it('adds counts that were not stored to those of the next time', async () => {
    const apiKey = keyOf('org_a', { _id: 'key_a' });
    const call = { apiKey, scored: undefined, errorCode: 'model_not_found', latencyMs: 5 };
    const stored: Omit<CallHour, '_id'>[] = [];
    let isAway = true;
    const add = async (written: readonly Omit<CallHour, '_id'>[]): Promise<void> => {
      if (!isAway) stored.push(...written);
      else {
        // Another call ends while the counts are written.
        hours.count(call);
        throw new Error('MongoDB is away');
      }
    };
    const hours = new CallHours({ store: { add }, clock: { now: () => 0 }, logger: { warn: () => undefined } });
    hours.count(call);
    hours.count({ ...call, errorCode: undefined });
    await hours.write();
    isAway = false;
    await hours.stop();
    const counts = stored.map(({ calls, errors, latency }) => ({ calls, errors, latency }));
    expect(counts).to.deep.equal([{ calls: 3, errors: { model_not_found: 2 }, latency: { 7: 3 } }]);
  });
});
