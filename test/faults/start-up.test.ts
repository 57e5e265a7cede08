import { expect } from 'chai';
import type { FaultProxy } from '../../scripts/chaos/fault-proxy.js';
import { eventually } from '../support/eventually.js';
import { expectNobodyElseDied } from '../support/fault-checks.js';
import { type FaultService, sharedFaultService } from '../support/fault-service.js';
import { scored } from '../support/score-reply.js';
import { startTimeoutMs } from '../support/service.js';
import { workspace } from '../support/workspace.js';

const proxied = 0;

describe('a gateway that starts while a connection breaks', () => {
  let service: FaultService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
  });
  afterEach(() => expectNobodyElseDied(service));

  for (const fate of ['lost', 'reply-lost'] as const)
    it(`comes up all the same: an index of MongoDB, ${fate}`, async function () {
      this.timeout(startTimeoutMs);
      const own = await workspace(service);
      const slot = service.cluster.gateways[proxied];
      const mongo: FaultProxy | undefined = slot?.proxies?.mongo;
      if (slot === undefined || mongo === undefined)
        throw new Error('the service has no gateway behind proxies');
      await slot.kill();
      const broken = mongo.next('createIndexes', fate);
      await slot.start();
      await broken;
      await eventually(async () => scored(await own.score([{ company_size: 3 }], { gateway: proxied })));
      expect(await own.ledgerSum()).to.equal(1);
    });
});
