import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { RequestFate } from '../../scripts/servers/fault-proxy.js';
import type { ServiceSlot } from '../../scripts/servers/slots/service-slot.js';
import { installationKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { type FaultService, sharedFaultService } from '../support/faults/fault-service.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';
import { itInFull } from '../support/tier.js';

const proxied = 0;
const awayForMs = 3_000; // longer than the command timeout of two seconds, so that a command fails with its retry

/** `_id` of the key settings, as MongoDB's protocol writes it: a string with its length. */
const keySettingsId = '_id\0\x05\0\0\0keys\0';

/** The same of the schema number. */
const schemaId = '_id\0\x07\0\0\0schema\0';

/** A request of a gateway before it is ready, with text that only it contains. */
interface Step {
  readonly server: 'redis' | 'mongo';
  readonly name: string;
  readonly text: string;
  /** Its case in the first tier. */
  readonly first?: RequestFate;
}

const steps: readonly Step[] = [
  { server: 'redis', name: 'owner of Redis', text: installationKey, first: 'lost' },
  { server: 'mongo', name: 'right to read', text: 'projection' },
  { server: 'mongo', name: 'stored KEY_PEPPER', text: keySettingsId },
  { server: 'mongo', name: 'schema number', text: schemaId, first: 'reply-lost' },
  { server: 'mongo', name: 'id of the database', text: 'findAndModify' },
  { server: 'mongo', name: 'own KEY_PEPPER', text: 'pepper_fingerprint' },
];

describe('a starting gateway', () => {
  let service: FaultService;
  let slot: ServiceSlot;

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

  /** The last command on each command connection of a gateway. Claiming Redis is a SET, which a full Redis refuses. */
  async function lastCommandsOfGateways(): Promise<string[]> {
    const clients = String(await service.redis.client('LIST'));
    return [...clients.matchAll(/ name=leadscore-gateway-commands .* cmd=(\S+)/g)].map(([, name = '']) => name);
  }

  for (const { server, name, text, first } of steps)
    for (const fate of ['lost', 'reply-lost'] as const)
      (fate === first ? it : itInFull)(
        `becomes ready when its connection to ${server} breaks: ${name}, ${fate}`,
        async function () {
          this.timeout(startTimeoutMs);
          const proxy = slot.proxies?.[server];
          if (proxy === undefined) throw new Error('the gateway has no proxies');
          await slot.kill();
          const broken = proxy.next(text, fate);
          await slot.start();
          await broken;
          await expectItServes();
        },
      );

  itInFull('becomes ready when Redis restarts while it checks the owner', async function () {
    this.timeout(startTimeoutMs);
    const proxy = slot.proxies?.redis;
    if (proxy === undefined) throw new Error('the gateway has no proxies');
    await slot.kill();
    // Held until Redis has ended: the gateway would retry a lost request at once.
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

  it('becomes ready when an emptied, full Redis accepts writes again', async function () {
    this.timeout(startTimeoutMs);
    await slot.kill();
    await service.redis.config('SET', 'maxmemory', '1');
    // Not FLUSHALL: the other gateway still settles calls of other tests.
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
