import { expect } from 'chai';
import { sentNamesOf } from '../../../api/dispatch/field-names.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { iterationsDuring } from '../../support/beats.js';
import { failureOf } from '../../support/failure-of.js';

const knownFields = compileKnownFields({ features: [{ type: 'number', field: 'size', label: 'Size', columns: [0] }] });

/** Records of one field each, with different names of 512 characters. */
const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ crmId: null, fields: { [String(index).padEnd(512, 'x')]: 1 } }));
const maxNames = (256 * 1024) / 512;

describe('sentNamesOf', () => {
  it('counts each different name of up to 512 characters once, and refuses more than 262,144 characters with 400', async () => {
    const long = { crmId: null, fields: { ['y'.repeat(1_000_000)]: 1, size: 2 } };
    const records = [...recordsOf(maxNames), ...recordsOf(maxNames), long];
    expect((await sentNamesOf({ records }, knownFields)).foldedCharacters).to.equal(256 * 1024);
    const refusal = await failureOf(sentNamesOf({ records: recordsOf(maxNames + 1) }, knownFields));
    expect(refusal).to.be.instanceOf(ApiError).with.nested.property('entry.status', 400);
    expect(refusal.message).to.match(/more than 262144 characters in total: send fewer fields, for example only those/);
  });

  it('ends an iteration of the event loop after each 16,384 characters, also within one record', async () => {
    const inOne = [{ crmId: null, fields: Object.assign({}, ...recordsOf(maxNames).map(({ fields }) => fields)) }];
    for (const records of [recordsOf(maxNames), inOne]) {
      const iterations = await iterationsDuring(() => sentNamesOf({ records }, knownFields));
      expect(iterations, `${records.length} records`).to.equal(16);
    }
  });
});
