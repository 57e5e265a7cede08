import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { GatewaySlot } from '../../scripts/servers/gateway-slot.js';
import { installationKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { type FaultService, sharedFaultService } from '../support/faults/fault-service.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const proxied = 0;
/** Longer than the two seconds that Redis has for a command: one that is asked meanwhile fails, however it is retried. */
const awayForMs = 3_000;

/** What a gateway asks before it is ready, as it stands in the request. */
const steps = [
  { server: 'redis', name: 'whose usage Redis counts', text: installationKey },
  { server: 'mongo', name: 'whether it may read', text: 'projection' },
  { server: 'mongo', name: 'an index', text: 'createIndexes' },
  { server: 'mongo', name: 'the id of the database', text: 'findAndModify' },
] as const;

describe('a gateway that starts', () => {
  let service: FaultService;
  let slot: GatewaySlot;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
    const [found] = service.cluster.gateways;
    if (found === undefined) throw new Error('the service has no gateway');
    slot = found;
  });
  afterEach(() => expectNoOtherDeath(service));

  async function expectItServes(): Promise<void> {
    const own = await workspace(service);
    await eventually(async () => scored(await own.score([{ company_size: 3 }], { gateway: proxied })));
    expect(await own.ledgerSum()).to.equal(1);
  }

  /** What each connection of a gateway for commands asked Redis last: a claim is a SET, which a full one refuses. */
  async function lastCommandsOfGateways(): Promise<string[]> {
    const clients = String(await service.redis.client('LIST'));
    return [...clients.matchAll(/ name=leadscore-gateway-commands .* cmd=(\S+)/g)].map(
      ([, name = '']) => name,
    );
  }

  for (const { server, name, text } of steps)
    for (const fate of ['lost', 'reply-lost'] as const)
      it(`comes up all the same when a connection to ${server} breaks: ${name}, ${fate}`, async function () {
        this.timeout(startTimeoutMs);
        const proxy = slot.proxies?.[server];
        if (proxy === undefined) throw new Error('the gateway has no proxies');
        await slot.kill();
        const broken = proxy.next(text, fate);
        await slot.start();
        await broken;
        await expectItServes();
      });

  it('comes up when Redis restarts as it is asked whose usage it counts', async function () {
    this.timeout(startTimeoutMs);
    const proxy = slot.proxies?.redis;
    if (proxy === undefined) throw new Error('the gateway has no proxies');
    await slot.kill();
    // Held until Redis has gone: what is lost is asked again at once.
    const asked = proxy.next(installationKey, 'held');
    const starting = slot.start();
    await asked;
    await service.cluster.kill('redis');
    proxy.release();
    await pause(awayForMs);
    await service.cluster.revive('redis');
    await starting;
    await expectItServes();
  });

  it('comes up when Redis, which was emptied, takes writes again', async function () {
    this.timeout(startTimeoutMs);
    await slot.kill();
    await service.redis.config('SET', 'maxmemory', '1');
    // Not FLUSHALL: the gateway beside it has calls of other tests to settle.
    await service.redis.del(installationKey);
    const starting = slot.start();
    try {
      await eventually(async () => expect(await lastCommandsOfGateways()).to.include('set'), 20_000);
    } finally {
      await service.redis.config('SET', 'maxmemory', '0');
    }
    await starting;
    await expectItServes();
  });
});
