import { expect } from 'chai';
import { onEachGateway } from '../../support/http/http-call.js';
import { rawCall } from '../../support/http/raw-connection.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badScoreKeys, badScoresKeys, badUsageKeys, badWebhookKeys } from '../bad-inputs/keys.js';
import { sharedRig } from '../bad-inputs/rig.js';

const lead = { company_size: 120 };

describeBadInputs('401 of POST /v1/score', badScoreKeys);

describe('401 of POST /v1/score: keys', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  it('returns 401 for a revoked key on both gateways within 2 s, and 200 for the other keys', async () => {
    const own = await workspace(service);
    const key = await own.addKey('live');
    for (const gateway of [0, 1]) scored(await own.score([lead], { key, gateway }));
    await own.revoke(key);
    await onEachGateway(async (gateway) => {
      const reply = await own.score([lead], { key, gateway });
      expect(refused(reply, '401 invalid_api_key').error.message).to.include('revoked');
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer');
    });
    for (const gateway of [0, 1]) {
      scored(await own.score([lead], { gateway }));
      scored(await own.score([lead], { gateway, key: own.test }));
    }
  });

  it('returns 401 for a malformed key without a database lookup, and for an unknown key after one', async () => {
    const lookups = async (): Promise<number> => {
      const [index] = await service.stores.database
        .collection('api_keys')
        .aggregate<{ accesses: { ops: unknown } }>([{ $indexStats: {} }, { $match: { 'key.hash': 1 } }])
        .toArray();
      return Number(index?.accesses.ops);
    };
    const rig = await sharedRig(service);
    const rows = [...badScoreKeys, ...badUsageKeys, ...badScoresKeys, ...badWebhookKeys];
    const send = async (word: string): Promise<void> => {
      for (const row of rows.filter(({ says }) => says.test(word))) await rawCall(service.url(), row.call(rig));
    };
    const before = await lookups();
    await send('malformed');
    expect(await lookups()).to.equal(before);
    await send('unknown');
    expect(await lookups()).to.be.above(before);
  });
});
