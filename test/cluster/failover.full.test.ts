import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeOfKey, type RedisCluster, startRedisCluster } from '../../scripts/servers/redis/redis-cluster.js';
import type { LocalServer } from '../../scripts/servers/server-process.js';
import { partitionPrefix, usageKey } from '../../shared/redis/keys.js';
import { runningProcesses } from '../../shared/redis/running-processes.js';
import { eventually } from '../support/eventually.js';
import { expectExact } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { recordsAnswered, recoveryMs, statuses, underLoad } from '../support/faults/fault-load.js';
import { sharedDeadlineMs, sharedLeaseMs } from '../support/faults/fault-service.js';
import { scored } from '../support/http/score-reply.js';
import { leaveOut } from '../support/leave-out.js';
import { makeCertificate } from '../support/service/certificate.js';
import { serviceRedisOn } from '../support/service/redis-of-service.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

/** An abandoned lease, and a recount one lease later. */
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);
const recoveredWithinMs = 15_000; // node timeout of two seconds, then an election
const beforeMs = 500;
const afterwardsMs = 2_000;

describe('a Redis Cluster with TLS and replicas, like a managed one', function () {
  this.timeout(120_000);
  let directory: string;
  let cluster: RedisCluster;
  let service: RunningService;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-failover-'));
    const certificate = await makeCertificate(directory);
    if (certificate === undefined) leaveOut(this, 'TLS needs a certificate', 'install openssl (1.1.1 or later)');
    service = await runningService({
      environment: {
        NODE_EXTRA_CA_CERTS: certificate.certFile,
        LANES: '4',
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

  /**
   * Kills a node under twenty calls a second. Asserts that calls recover with its replica, and that counts are exact.
   */
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

  it('gets only TLS connections from the service', async () => {
    const own = await workspace(service);
    scored(await own.score([{ company_size: 120 }]));
    expect(await own.redisUsage()).to.deep.equal({ used: 1, leased: 0 });
    for (const [index, { port }] of cluster.nodes.entries()) {
      const clients = String(await service.redisNodes[index]?.client('LIST')).split('\n');
      const ofService = clients.filter((client) => / name=leadscore-(?!tests)/.test(client));
      expect(ofService.length, 'connections of the service').to.be.above(0);
      expect(ofService.filter((client) => client.includes(`laddr=127.0.0.1:${port} `))).to.deep.equal([]);
    }
  });

  it('lists each gateway and pool of the service once', async () => {
    expect(await runningProcesses(service.redis)).to.deep.equal({ gateway: 1, pool: 1, bulk: 0, console: 0 });
  });

  it('loses the node with a partition of the queues: calls recover with its replica', async () => {
    const own = await workspace(service);
    await failOver(
      "A Redis Cluster's node with a partition is killed",
      own,
      await nodeOfKey(cluster, service.redis, partitionPrefix(0)),
    );
  });

  it('loses the node with an organisation’s counters: calls recover with its replica', async () => {
    const ofQueues = await nodeOfKey(cluster, service.redis, partitionPrefix(0));
    for (;;) {
      const own = await workspace(service);
      const node = await nodeOfKey(cluster, service.redis, usageKey(own.counter('live')));
      if (node !== ofQueues) return await failOver("A Redis Cluster's node with counters is killed", own, node);
    }
  });
});
