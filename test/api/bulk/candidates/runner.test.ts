import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { CandidateRunStore } from '../../../../shared/store/models/candidate-runs.js';
import { storeVersion } from '../../../../shared/store/models/store-version.js';
import { ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { eventually } from '../../../support/eventually.js';
import { scored } from '../../../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { workspace } from '../../../support/service/workspace.js';
import { recordCall } from './candidate-rig.js';

const withinMs = 60_000;
const hourMs = 60 * 60_000;

describe('the runner of bulk jobs, with a candidate', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('bulk');
  });

  it('scores recorded leads as calls to the version would, and removes the scores once it is dropped', async function () {
    this.timeout(2 * withinMs);
    const { database, models } = service.stores;
    const next = sampleBundle({
      version: '2.0.0',
      features: [...sampleFeatures],
      weights: [0.01, 1, 0.2, 0.7, -0.2, -0.5],
    });
    const [own, served] = [await workspace(service), await workspace(service, { bundle: next })];
    const { _id: model } = own.model;
    await storeVersion({
      database,
      organisationId: own.id,
      modelId: model,
      bundle: checkBundle(next),
      now: new Date(),
    });
    const leads = Array.from({ length: 250 }, (_, row) => `L-${row}`);
    const atMs = service.clock.now() - 2 * hourMs;
    const fields = (row: number) => [row, row % 2 === 0, 'Webinar'];
    await recordCall(own, { atMs, version: own.model.version, leads, fields });

    await models.update(model, { candidate: { version: '2.0.0', since: new Date(), by: 'a test' } });
    const runs = new CandidateRunStore(database);
    const run = () => runs.find(model, '2.0.0');
    await eventually(async () => expect(await run()).to.include({ state: 'completed' }), withinMs);
    expect(await run()).to.include({ rows: 250, total: 250, refused: 0, base: own.model.version });
    const collection = database.collection<{ readonly _id: string; readonly scores: readonly number[] }>(
      'candidate_scores',
    );
    const stored = await collection.find({ model }).sort({ _id: 1 }).toArray();
    const records = leads.map((_, row) => {
      const [company_size, demo_requested, lead_source] = fields(row);
      return { company_size, demo_requested, lead_source };
    });
    const { scores } = scored(await served.score(records));
    expect(stored.flatMap((segment) => segment.scores)).to.deep.equal(scores.map(({ score }) => score));
    expect(await own.ledgerSum()).to.equal(0);

    await eventually(async () => expect(await run()).to.have.property('comparison'), withinMs);
    expect((await run())?.comparison).to.include({ scored: 250, base: own.model.version, verdict: 'too_early' });
    expect(await new ValidationStore(database).find(`${model}:2.0.0`, 5_000), 'its grade').to.not.equal(undefined);
    await models.update(model, {}, ['candidate']);
    await eventually(async () => expect(await collection.countDocuments({ model })).to.equal(0), withinMs);
    expect(await run()).to.include({ state: 'dropped' });
  });
});
