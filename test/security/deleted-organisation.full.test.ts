import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { signal } from '../../scripts/servers/server-process.js';
import { queuePrefix, upkeepQueueName } from '../../shared/redis/keys.js';
import { cliDocument } from '../scripts/cli/cli-call.js';
import { eventually } from '../support/eventually.js';
import { freeze } from '../support/faults/stall.js';
import { refused } from '../support/http/score-reply.js';
import { everything } from '../support/organisations/every-collection.js';
import { UsedOrganisation } from '../support/organisations/used-organisation.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';

/** Words that stand in all names, leads and values of an organisation, and nowhere else. */
const [goneWord, stayWord] = ['zq7gone4x', 'zq7stay4x'];
/** Collections with such words. */
const withWords = [
  ...['orgs', 'api_keys', 'models', 'model_versions', 'calls', 'field_days', 'idempotency', 'outcomes', 'erasures'],
  ...['jobs', 'job_uploads', 'audit_log', 'console_members', 'console_links', 'console_sessions', 'console_uploads'],
];

describe('after the deletion of an organisation that used everything', function () {
  this.timeout(6 * startTimeoutMs);
  let service: RunningService;
  let gone: UsedOrganisation;
  let neighbour: UsedOrganisation;
  /** Characters of the log at the order. */
  let loggedBefore: number;
  /** Ids and hashes that name the organisation, its keys, models, calls, jobs and people. */
  let ids: string[];

  before(async () => {
    service = await runningService({
      ...{ gateways: 2, withRunner: true, withConsole: true },
      environment: {
        ...{ WORKERS: '1', LANES: '1', BULK_WORKERS: '1' },
        ...{ LOG_LEVEL: 'trace', CONSOLE_PORT: '0', CONSOLE_URL: undefined },
        // A removal waits for a lease, which is three times as long.
        ...{ REQUEST_TIMEOUT_MS: '3000', WEBHOOK_TIMEOUT_MS: '3000' },
      },
    });
    gone = await UsedOrganisation.create(service, goneWord);
    neighbour = await UsedOrganisation.create(service, stayWord, gone.own.id);
    await gone.useEverything();
    await neighbour.useEverything();
  });
  after(() => service?.stop());

  /** Ids of the documents that name the organisation, before they are removed. */
  async function idsOf({ own, secrets }: UsedOrganisation): Promise<string[]> {
    const { database } = service.stores;
    const of = async (name: string, filter: object, member = '_id'): Promise<string[]> => {
      const found = await database.collection(name).find(filter).toArray();
      expect(found, name).to.not.deep.equal([]);
      return found.map((document) => String(document[member]));
    };
    const [org, organisation] = [{ org: own.id }, { organisation_id: own.id }];
    const found = await Promise.all([
      ...['calls', 'jobs', 'console_uploads', 'console_members'].map((name) => of(name, org)),
      of('console_sessions', org, 'session_id'),
      ...['_id', 'hash'].map((member) => of('api_keys', organisation, member)),
      of('models', organisation),
    ]);
    return [own.id, ...secrets, ...new Set(found.flat())];
  }
  /** The names of collections and keys in which a text stands, each with the lines. */
  async function foundOf(texts: readonly string[]): Promise<Record<string, string[]>> {
    const has = (line: string): boolean => texts.some((text) => line.toLowerCase().includes(text.toLowerCase()));
    const found: Record<string, string[]> = {};
    for (const [name, text] of await everything(service.stores.database, service.redis)) {
      const lines = [name, ...text.split('\n')].filter(has);
      if (lines.length > 0) found[name] = lines;
    }
    return found;
  }
  const receipt = () => cliDocument(['org', 'receipts', gone.own.id], gone.settings);
  const order = () => cliDocument(['org', 'delete', gone.own.id, '--name', gone.name, '--after', '1'], gone.settings);

  it('no collection, no bundle and no key of Redis has anything of it but the order and the receipt', async () => {
    expect(Object.keys(await foundOf([goneWord]))).to.include.members([...withWords, `redis {${gone.own.id}}:leads`]);
    ids = await idsOf(gone);
    expect(Object.keys(await foundOf(ids))).to.include.members([
      ...['bundles.files', 'call_days', 'job_slices', 'job_blobs'],
      `redis {${gone.own.id}}:refused-calls`,
    ]);
    loggedBefore = (await service.log()).length;
    await order();
    await eventually(async () => {
      for (const gateway of [0, 1]) refused(await gone.own.score([gone.lead(1)], { gateway }), '401 invalid_api_key');
    });
    for (const reply of await gone.callsOfPrograms()) expect(reply.status, reply.text).to.be.within(400, 499);
    const deletions = service.stores.database.collection<{ _id: string }>('org_deletions');
    await deletions.updateOne({ _id: gone.own.id }, { $set: { due_at: new Date() } });

    // The pool looks for due deletions once a minute. The test asks for it earlier, as often as it is needed.
    const connection = new Redis(service.urls.redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    const upkeep = new Queue(upkeepQueueName, { connection, prefix: queuePrefix });
    await eventually(async () => {
      await upkeep.add('org-deletions', {}, { removeOnComplete: true, removeOnFail: true });
      for (const reply of await gone.callsOfPrograms()) expect(reply.status, reply.text).to.be.within(400, 499);
      await neighbour.score();
      expect(await receipt()).to.include({ state: 'deleted' });
    }, 120_000);
    await upkeep.close();
    connection.disconnect();

    await neighbour.score();
    for (const gateway of [0, 1])
      for (const reply of await gone.callsOfPrograms({ gateway }))
        expect(reply.status, reply.text).to.be.within(400, 499);
    for (const reply of await gone.openPages()) expect(reply.status, reply.text).to.be.within(400, 499);
    // Each gateway writes refused calls later, and the neighbour's call is its last one.
    const { own } = neighbour;
    const lastOf = (gateway: number): string => `last-of-gateway-${gateway}`;
    for (const gateway of [0, 1])
      await own.call('/v1/models/none', { gateway, headers: { 'x-request-id': lastOf(gateway) } });
    await eventually(async () => {
      const listed = (await service.redis.lrange(`{${own.id}}:refused-calls`, 0, -1)).join();
      for (const gateway of [0, 1]) expect(listed).to.include(lastOf(gateway));
    });
    expect(await foundOf([goneWord])).to.deep.equal({});
    const left = await foundOf(ids);
    expect(Object.keys(left)).to.have.members(['org_deletions', 'audit_log']);
    const { database } = service.stores;
    const files = await database.collection('bundles.files').distinct('_id');
    expect(await database.collection('bundles.chunks').countDocuments({ files_id: { $nin: files } })).to.equal(0);
    expect(left.org_deletions).to.have.length(1);
    const entries = (left.audit_log ?? []).map((line) => JSON.parse(line));
    expect(entries.map(({ action, org }) => [action, org])).to.deep.equal([['org.delete', undefined]]);
  });

  /** A call that fails leaves a line in the log, unlike one that is refused. */
  async function failWithNeighbour(): Promise<void> {
    const { own, word } = neighbour;
    await freeze(service.redisServer.pid);
    try {
      const body = { model_id: own.model._id, ...neighbour.lead(1) };
      const replies = await Promise.all([
        own.score([neighbour.lead(1)], { gateway: 0 }),
        own.call('/v1/webhooks/score', { gateway: 0, body }),
        own.call(`/v1/scores/lead-${word}-1`, { gateway: 1 }),
      ]);
      for (const reply of replies) refused(reply, '500 internal_error');
    } finally {
      signal(service.redisServer.pid, 'SIGCONT');
    }
  }

  it('its neighbour with the same six characters works on, and has all that it had', async () => {
    const { own } = neighbour;
    expect(own.id.slice(0, 10)).to.equal(gone.own.id.slice(0, 10));
    await eventually(async () => expect((await own.redisUsage()).used).to.equal(await own.ledgerSum()));
    expect(Object.keys(await foundOf([stayWord]))).to.include.members([...withWords, `redis {${own.id}}:leads`]);
    await neighbour.useEverything();
  });

  it('no process has logged a name, a lead or a value of it, nor a secret, not even at its end', async () => {
    await failWithNeighbour();
    await service.stack.stop();
    const lines = (await service.log()).slice(loggedBefore).split('\n');
    expect(lines.filter((line) => line.includes('organisation deleted'))).to.have.length(1);
    expect(lines.filter((line) => line.includes('"route":"')).length, 'lines of calls').to.be.at.least(3);
    const found = new Set(lines.flatMap((line) => /"process":"(\w+)"/.exec(line)?.[1] ?? []));
    expect([...found]).to.include.members(['gateway', 'pool', 'worker', 'bulk', 'console']);
    const texts = [goneWord, stayWord, ...gone.secrets].map((text) => text.toLowerCase());
    const naming = lines.filter((line) => texts.some((text) => line.toLowerCase().includes(text)));
    expect(naming, naming.slice(0, 3).join('\n')).to.deep.equal([]);
  });
});
