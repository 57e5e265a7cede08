import { expect } from 'chai';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badRecords, tooManyRecords } from '../bad-inputs/records.js';

const lead = { company_size: 120 };

describeBadInputs('400 of POST /v1/score', badRecords);
describeBadInputs('400 of POST /v1/score: more than 1000 records', tooManyRecords);

describe('400 of POST /v1/score: messages', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  /** The sample features with changes to the first one, `company_size`. */
  const withSize = (changes: object) => {
    const [size, ...rest] = sampleFeatures;
    if (size === undefined) throw new Error('the sample bundle has no features');
    return sampleBundle({ features: [{ ...size, ...changes }, ...rest] });
  };

  describe('a record that cannot be featurized', () => {
    it('names the first five invalid records across all chunks of a batch, and counts the rest', async () => {
      const records = Array.from({ length: 1000 }, (_, row) => (row % 100 === 17 ? { company_size: [1, 2] } : lead));
      const { message } = refused(await own.score(records), '400 bad_request').error;
      const named = [...message.matchAll(/records\[(\d+)\]/g)].map((match) => Number(match[1]));
      expect(named).to.deep.equal([17, 117, 217, 317, 417]);
      expect(message).to.include('and 5 more');
    });

    it('returns 400 for a record without a known field, alone and in a batch', async () => {
      expect(refused(await own.score([{}]), '400 bad_request').error.message).to.match(/^records\[0\]:/);
      const { message } = refused(await own.score([lead, { nothing: 1 }]), '400 bad_request').error;
      expect(message).to.match(/^records\[1\]:/);
    });

    it('returns 400 for a record without a required field, unless the field is stored', async () => {
      const strict = await workspace(service, { bundle: withSize({ required: true }) });
      const { message } = refused(await strict.score([{ lead_source: 'Webinar' }]), '400 bad_request').error;
      expect(message).to.match(/^records\[0\]\.company_size: expected a number, came nothing/);
      scored(await strict.score([{ ...lead, crm_id: 'L-1' }]));
      scored(await strict.score([{ lead_source: 'Webinar', crm_id: 'L-1' }]));
    });

    it('adds the sent field name when it differs from the name in the model', async () => {
      const named = await workspace(service, { bundle: withSize({ aliases: ['Head count'] }) });
      const bad = [{ 'Company Size': {} }, { 'HEAD-COUNT': {} }, { company_size: {}, headcount: 1 }];
      const { message } = refused(await named.score(bad), '400 bad_request').error;
      const came = 'company_size: expected a number, came an object';
      expect(message).to.equal(
        `records[0].${came} (sent as "Company Size"); records[1].${came} (sent as "HEAD-COUNT"); records[2].${came}. ` +
          'Nothing of the call was counted.',
      );
      const long = await named.score([{ [`${' '.repeat(3_000)}company_size`]: {} }]);
      expect(refused(long, '400 bad_request').error.message).to.have.length.below(300);
    });

    it('lists at most five unknown field names of a record, each shortened to 100 characters', async () => {
      const names = ['colour', 'x'.repeat(3_000), 'a b', 'n', 'tags', 'more'];
      const many = Object.fromEntries(names.map((name) => [name, null]));
      const { message } = refused(await own.score([{}, { ...many, tags: [] }]), '400 bad_request').error;
      const came = 'expected at least one field that the model knows, came none';
      expect(message).to.equal(
        `records[0]: ${came} (it is empty); ` +
          `records[1]: ${came} (it has "colour"; "${'x'.repeat(99)}…"; "a b"; "n"; "tags", a list; and others). ` +
          `GET /v1/models/${own.model._id} lists the model's fields. Nothing of the call was counted.`,
      );
    });

    it('quotes a field name that is not an identifier', async () => {
      const odd = await workspace(service, { bundle: withSize({ field: 'Company "size"' }) });
      const { message } = refused(await odd.score([{ 'Company "size"': {} }]), '400 bad_request').error;
      expect(message).to.match(/^records\[0\]\["Company \\"size\\""\]: expected a number/);
    });
  });
});
