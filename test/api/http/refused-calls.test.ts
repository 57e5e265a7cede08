import { expect } from 'chai';
import { Redis } from 'ioredis';
import { RefusedCalls } from '../../../api/http/refused-calls.js';
import { addRefusedCalls, type RefusedCall, readRefusedCalls } from '../../../shared/messages/refused-calls.js';
import { refusedCallsKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const callOf = (index: number): RefusedCall => ({
  ...{ atMs: index, keyId: 'key_a', code: 'bad_request', status: 400, route: 'POST /v1/score' },
  requestId: `r${index}`,
});

describe('the refused calls of a gateway', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
  });

  const list = (id = own.id) => readRefusedCalls(service.redis, id, service.clock.now());

  it('are listed with key, code, route and request id, and with nothing of a body or of a path', async () => {
    const secret = 'a-value-of-the-body';
    const refused = [
      await own.post({ model_id: 'mdl_none', records: [{ note: secret }] }),
      await own.post(`{"${secret}`),
      await own.call(`/v1/scores/${secret}`, { method: 'POST', body: {} }),
      await own.call(`/v1/scores/${secret}`),
    ];
    await own.score([{ company_size: 5 }]);
    const requestIds = refused.map(({ headers }) => headers.get('x-request-id'));
    const listed = [0, 1, 3].map((index) => requestIds[index]);
    // Each gateway adds its own.
    await eventually(async () => expect((await list()).map(({ requestId }) => requestId)).to.include.members(listed));
    const calls = await list();
    const found = calls.map(({ keyId, code, status, route }) => ({ keyId, code, status, route }));
    const key = { keyId: own.live.key._id };
    expect(found).to.deep.include({ ...key, code: 'model_not_found', status: 404, route: 'POST /v1/score' });
    expect(found).to.deep.include({ ...key, code: 'bad_request', status: 422, route: 'POST /v1/score' });
    expect(found).to.deep.include({ ...key, code: 'not_found', status: 404, route: 'GET /v1/scores/:crm_id' });
    expect(
      calls.map(({ requestId }) => requestId),
      'a method that no key has reached',
    ).to.not.include(requestIds[2]);
    expect(JSON.stringify(calls)).to.not.include(secret);
    for (const { atMs } of calls) expect(Math.abs(atMs - service.clock.now())).to.be.below(60_000);
  });

  it('leave out those of unknown keys, and are those of one organisation', async () => {
    const other = await workspace(service);
    const before = (await list()).length;
    const unknown = { ...own.live, secret: 'unknown' };
    await own.call('/v1/score', { method: 'POST', body: {}, key: unknown });
    await other.post('{');
    await own.post('{');
    await eventually(async () => {
      expect(await list(other.id)).to.have.length(1);
      expect(await list()).to.have.length.above(before);
    });
    // The gateways write once a second, and each call that it notes later comes with a later write.
    await own.post('{');
    await eventually(async () => expect(await list()).to.have.length.above(before + 1));
    expect(await list()).to.have.length(before + 2);
    expect(await list(other.id)).to.have.length(1);
  });
});

describe('RefusedCalls', () => {
  let redis: Redis;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
  });
  after(() => redis.disconnect());

  const refusedCalls = (add: ConstructorParameters<typeof RefusedCalls>[0]['add'], warned: unknown[] = []) =>
    new RefusedCalls({
      add,
      clock: { now: () => 0 },
      logger: { warn: (fields: unknown) => warned.push(fields) },
      writeEveryMs: 60_000,
    });

  it('keeps the last 200 of an organisation in memory and in Redis, for seven days', async () => {
    const calls = refusedCalls((organisationId, some) => addRefusedCalls(redis, organisationId, some));
    for (let index = 0; index < 250; index += 1) calls.note('org_a', callOf(index));
    await calls.write();
    const last = async () => (await readRefusedCalls(redis, 'org_a', 1_000)).map(({ atMs }) => atMs);
    expect(await last()).to.deep.equal(Array.from({ length: 200 }, (_, index) => 249 - index));
    calls.note('org_a', callOf(250));
    await calls.stop();
    expect([(await last()).length, (await last())[0]]).to.deep.equal([200, 250]);
    expect(await redis.llen(refusedCallsKey('org_a'))).to.equal(200);
    expect(await redis.pttl(refusedCallsKey('org_a'))).to.be.within(6 * 86_400_000, 7 * 86_400_000);
  });

  it('lists no call of more than seven days, also while later ones keep the list', async () => {
    const weekMs = 7 * 86_400_000;
    await addRefusedCalls(redis, 'org_b', [callOf(0), callOf(2)]);
    await addRefusedCalls(redis, 'org_b', [callOf(weekMs)]);
    const listed = async (nowMs: number) => (await readRefusedCalls(redis, 'org_b', nowMs)).map(({ atMs }) => atMs);
    expect(await listed(weekMs - 1)).to.deep.equal([weekMs, 2, 0]);
    expect(await listed(weekMs + 1)).to.deep.equal([weekMs, 2]);
    expect(await listed(weekMs + 2)).to.deep.equal([weekMs]);
  });

  it('holds at most 5,000 of all organisations, and drops what Redis does not take', async () => {
    const added: [string, number][] = [];
    const warned: unknown[] = [];
    let isAway = false;
    const calls = refusedCalls(async (organisationId, some) => {
      if (isAway) throw new Error('Redis is away');
      added.push([organisationId, some.length]);
    }, warned);
    for (let index = 0; index < 30; index += 1)
      for (let call = 0; call < 220; call += 1) calls.note(`org_${index}`, callOf(call));
    await calls.write();
    expect(added).to.deep.equal(Array.from({ length: 25 }, (_, index) => [`org_${index}`, 200]));
    isAway = true;
    calls.note('org_a', callOf(1));
    await calls.write();
    expect(warned).to.have.length(1);
    isAway = false;
    calls.note('org_b', callOf(2));
    await calls.stop();
    expect(added.slice(25)).to.deep.equal([['org_b', 1]]);
  });
});
