import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { LocalServer } from '../../scripts/servers/server-process.js';
import { queuePrefix, usageKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { expectExact } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { recordsAnswered, recoveryMs, statuses, underLoad } from '../support/faults/fault-load.js';
import { sharedDeadlineMs, sharedLeaseMs } from '../support/faults/fault-service.js';
import { scored } from '../support/http/score-reply.js';
import { leaveOut } from '../support/leave-out.js';
import { makeCertificate } from '../support/service/certificate.js';
import { nodeOfKey, type RedisCluster, startRedisCluster } from '../support/service/redis-cluster.js';
import { serviceRedisOn } from '../support/service/redis-of-service.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

/** A lease that nobody ended, and a counter that is to be taken from the ledger again one lease later. */
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);
/** A node is taken for gone after two seconds, and its replica is then elected. */
const recoveredWithinMs = 15_000;
const beforeMs = 500;
const afterwardsMs = 2_000;

describe('a Redis Cluster with TLS and replicas, as it is rented', function () {
  this.timeout(120_000);
  let directory: string;
  let cluster: RedisCluster;
  let service: RunningService;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-failover-'));
    const certificate = await makeCertificate(directory);
    if (certificate === undefined)
      leaveOut(this, 'it takes a certificate to talk with TLS', 'install openssl (1.1.1 or later)');
    service = await runningService({
      environment: {
        NODE_EXTRA_CA_CERTS: certificate.certFile,
        REQUEST_TIMEOUT_MS: String(sharedDeadlineMs),
        WEBHOOK_TIMEOUT_MS: String(sharedDeadlineMs),
      },
      startRedis: async (options) => {
        cluster = await startRedisCluster({ ...options, withReplicas: true, certificate });
        return await serviceRedisOn(cluster);
      },
    });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Kills a node under twenty calls a second; all is normal again, and counted right, when its replica has its place. */
  async function failOver(fault: string, own: TestWorkspace, node: LocalServer): Promise<void> {
    let killedMs = 0;
    const outcomes = await underLoad(
      () => own.score([{ crm_id: 'L-1', company_size: 120 }]),
      async () => {
        await pause(beforeMs);
        killedMs = performance.now();
        node.process.kill('SIGKILL');
        await pause(sharedDeadlineMs);
        await eventually(async () => scored(await own.score([{ company_size: 120 }])), recoveredWithinMs);
        await pause(afterwardsMs);
      },
    );
    printFigures({ fault, answers: statuses(outcomes), recovered_ms: recoveryMs(outcomes, killedMs) });
    for (const status of Object.keys(statuses(outcomes))) expect(status).to.be.oneOf(['200', '500']);
    await expectExact(own, exactWithinMs, recordsAnswered(outcomes) + 1);
  }

  it('is talked to with TLS alone', async () => {
    const own = await workspace(service);
    scored(await own.score([{ company_size: 120 }]));
    expect(await own.redisUsage()).to.deep.equal({ used: 1, leased: 0 });
    for (const [index, { port }] of cluster.nodes.entries()) {
      const clients = String(await service.redisNodes[index]?.client('LIST')).split('\n');
      const ofService = clients.filter((client) => / name=leadscore-(?!tests)/.test(client));
      expect(ofService.length, 'its connections').to.be.above(0);
      expect(ofService.filter((client) => client.includes(`laddr=127.0.0.1:${port} `))).to.deep.equal([]);
    }
  });

  it('loses the node of all queues: its replica takes its place', async () => {
    const own = await workspace(service);
    await failOver(
      "A Redis Cluster's node with the queues is killed",
      own,
      await nodeOfKey(cluster, service.redis, queuePrefix),
    );
  });

  it('loses the node of an organisation’s counters: the same', async () => {
    const ofQueues = await nodeOfKey(cluster, service.redis, queuePrefix);
    for (;;) {
      const own = await workspace(service);
      const node = await nodeOfKey(cluster, service.redis, usageKey(own.counter('live')));
      if (node !== ofQueues)
        return await failOver("A Redis Cluster's node with counters is killed", own, node);
    }
  });
});
