import { expect } from 'chai';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const fields = 10;
const records = 1_000;

/** Names and labels of the maximum length, in a script of three bytes a character. */
const wordyFeature = (field: number): Feature => ({
  field: `${field}`.padEnd(255, '問'),
  label: `${field}`.padEnd(255, '答'),
  aliases: [`q${field}`],
  type: 'number',
  columns: [field],
  impute: 0,
});

describe('an explained batch whose reply is larger than MongoDB stores', () => {
  it('returns 400 under an Idempotency-Key, again and again, counts nothing, and returns 200 without the key', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(await runningService(), {
      bundle: sampleBundle({
        features: Array.from({ length: fields }, (_, field) => wordyFeature(field)),
        weights: Array.from({ length: fields }, () => 1),
      }),
    });
    const lead = Object.fromEntries(Array.from({ length: fields }, (_, field) => [`q${field}`, 0.1]));
    const leads = Array.from({ length: records }, () => lead);
    const headers = { 'idempotency-key': 'k' };
    for (let call = 0; call < 2; call += 1) {
      const { message } = refused(await own.score(leads, { explain: true, headers }), '400 bad_request').error;
      expect(message).to.match(/^The reply has 1[678]\.\d\d MiB; under an Idempotency-Key it is stored/);
    }
    await eventually(async () => expect(await own.redisUsage()).to.deep.equal({ used: 0, leased: 0 }));
    expect(await own.ledgerSum()).to.equal(0);
    scored(await own.score(leads, { explain: true }));
    scored(await own.score(leads.slice(0, records / 2), { explain: true, headers }));
    expect(await own.ledgerSum()).to.equal(1.5 * records);
  });
});
