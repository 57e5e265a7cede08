import { expect } from 'chai';
import { newId } from '../../shared/contract/identifiers.js';
import { refused, scored } from '../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type TestWorkspace, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const dayMs = 24 * 60 * 60 * 1000;

describe('POST /v1/score: what is refused', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  describe('by the plan', () => {
    it('a live key on the Free plan, with 429 and without a Retry-After: an upgrade clears it', async () => {
      const free = await workspace(service, { plan: 'free' });
      const reply = await free.score([lead]);
      const { message } = refused(reply, '429 quota_exceeded').error;
      expect(message).to.include('Free plan').and.include('An upgrade clears this, the next month does not');
      expect(reply.headers.get('retry-after')).to.equal(null);
    });

    it('not a test key on the Free plan', async () => {
      const free = await workspace(service, { plan: 'free' });
      const { usage, test } = scored(await free.score([lead], { key: free.test }));
      expect({ usage, test }).to.deep.equal({
        test: true,
        usage: { current: 1, limit: 1_000, remaining: 999, in_grace: false, backstop: null },
      });
    });

    it('both keys after a trial, with 402 and without a Retry-After', async () => {
      const ended = await workspace(service, {
        plan: 'trial',
        trialEndsAt: new Date(service.clock.now() - 1_000),
      });
      for (const key of [ended.live, ended.test]) {
        const reply = await ended.score([lead], { key });
        refused(reply, '402 expired_read_only');
        expect(reply.headers.get('retry-after')).to.equal(null);
      }
    });

    it('neither key during a trial, which has the quota of Pro', async () => {
      const trial = await workspace(service, {
        plan: 'trial',
        trialEndsAt: new Date(service.clock.now() + dayMs),
      });
      expect(scored(await trial.score([lead])).usage).to.include({ limit: 10_000, backstop: 20_000 });
      scored(await trial.score([lead], { key: trial.test }));
    });

    it('neither key on a paid plan whose trial has ended', async () => {
      const paid = await workspace(service, {
        plan: 'pro',
        trialEndsAt: new Date(service.clock.now() - dayMs),
      });
      scored(await paid.score([lead]));
      scored(await paid.score([lead], { key: paid.test }));
    });

    it('nothing below the larger limit of Enterprise', async () => {
      const large = await workspace(service, { plan: 'enterprise' });
      expect(scored(await large.score([lead])).usage).to.include({ limit: 30_000, backstop: 60_000 });
    });
  });

  describe('by the model', () => {
    it('one that does not exist, whatever its id looks like', async () => {
      for (const modelId of [
        newId('mdl'),
        'mdl_',
        'x',
        'mdl_../x',
        `${own.model._id} `,
        own.model._id.toUpperCase(),
      ])
        refused(await own.score([lead], { modelId }), '404 model_not_found');
    });

    it('one of another organisation, in the same words as one that does not exist', async () => {
      const other = await workspace(service);
      const foreign = await own.score([lead], { modelId: other.model._id, gateway: 0 });
      const unknown = await own.score([lead], { modelId: newId('mdl'), gateway: 0 });
      expect(foreign.text).to.equal(unknown.text);
      refused(foreign, '404 model_not_found');
    });

    it('one that was deleted', async () => {
      const gone = await own.addModel();
      await service.stores.models.update(gone._id, { deleted_at: new Date(service.clock.now()) });
      refused(await own.score([lead], { modelId: gone._id }), '404 model_not_found');
    });

    it('one whose Live API is off, with 403 for both keys', async () => {
      const off = await own.addModel({ liveApi: false });
      for (const key of [own.live, own.test]) {
        const reply = await own.score([lead], { key, modelId: off._id });
        expect(refused(reply, '403 api_disabled').error.message)
          .to.include('Live API is off')
          .and.include(`"leadscore model set ${off._id} --live-api on"`);
      }
    });
  });

  describe('by the number of records', () => {
    it('none at all, with 400', async () => {
      refused(await own.score([]), '400 bad_request');
    });

    it('1001, with 400 record_limit_exceeded, although 1000 pass', async () => {
      const records = Array.from({ length: 1001 }, () => lead);
      const { message } = refused(await own.score(records), '400 record_limit_exceeded').error;
      expect(message).to.include('1001').and.include('1000');
      scored(await own.score(records.slice(1)));
    });
  });

  describe('by a record that cannot be featurized', () => {
    it('one among 999 good ones, naming the record, the field, what was expected and what came', async () => {
      const records: Record<string, unknown>[] = Array.from({ length: 1000 }, () => ({ ...lead }));
      records[617] = { company_size: { amount: 5 } };
      const { message } = refused(await own.score(records), '400 bad_request').error;
      expect(message).to.match(/^records\[617\]\.company_size: expected a number, came an object\b/);
    });

    it('naming at most five of many, over all parts of a batch, and how many more there are', async () => {
      const records = Array.from({ length: 1000 }, (_, row) =>
        row % 100 === 17 ? { company_size: [1, 2] } : lead,
      );
      const { message } = refused(await own.score(records), '400 bad_request').error;
      const named = [...message.matchAll(/records\[(\d+)\]/g)].map((match) => Number(match[1]));
      expect(named).to.deep.equal([17, 117, 217, 317, 417]);
      expect(message).to.include('and 5 more');
    });

    it('one without any field that the model knows, alone and in a batch', async () => {
      expect(refused(await own.score([{}]), '400 bad_request').error.message).to.match(/^records\[0\]:/);
      const { message } = refused(await own.score([lead, { nothing: 1 }]), '400 bad_request').error;
      expect(message).to.match(/^records\[1\]:/);
    });

    it('one without a required field, unless it is stored already', async () => {
      const [size, ...rest] = sampleFeatures;
      if (size === undefined) throw new Error('the sample bundle has no features');
      const bundle = sampleBundle({ features: [{ ...size, required: true }, ...rest] });
      const strict = await workspace(service, { bundle });
      const { message } = refused(await strict.score([{ lead_source: 'Webinar' }]), '400 bad_request').error;
      expect(message).to.match(/^records\[0\]\.company_size: expected a number, came nothing/);
      scored(await strict.score([{ ...lead, crm_id: 'L-1' }]));
      scored(await strict.score([{ lead_source: 'Webinar', crm_id: 'L-1' }]));
    });

    it('a number that no double can hold', async () => {
      const reply = await own.post(`{"model_id":"${own.model._id}","records":[{"company_size":1e999}]}`);
      expect(refused(reply, '400 bad_request').error.message).to.include('records[0].company_size');
    });

    it('naming a field as it was sent too, where the model calls it otherwise', async () => {
      const [size, ...rest] = sampleFeatures;
      if (size === undefined) throw new Error('the sample bundle has no features');
      const bundle = sampleBundle({ features: [{ ...size, aliases: ['Head count'] }, ...rest] });
      const named = await workspace(service, { bundle });
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

    it('naming what a record has of which the model knows nothing, at most five names and none too long', async () => {
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

    it('quoting a field name that is no identifier', async () => {
      const [size, ...rest] = sampleFeatures;
      if (size === undefined) throw new Error('the sample bundle has no features');
      const bundle = sampleBundle({ features: [{ ...size, field: 'Company "size"' }, ...rest] });
      const odd = await workspace(service, { bundle });
      const { message } = refused(await odd.score([{ 'Company "size"': {} }]), '400 bad_request').error;
      expect(message).to.match(/^records\[0\]\["Company \\"size\\""\]: expected a number/);
    });
  });
});
