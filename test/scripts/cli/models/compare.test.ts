import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { CandidateRun, StoredComparison } from '../../../../shared/store/models/candidate-runs.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { sampleComparison, storeComparedRun } from '../../../support/models/sample-comparison.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

const early = { lift: null, auc: null, verdict: 'too_early', judged_conversions: null } as const;

describe('model compare', () => {
  let desk: OperatorDesk;
  let model: string;

  before(async () => {
    desk = await operatorDesk();
  });
  beforeEach(async () => {
    const organisationId = await desk.newOrganisation();
    const { database } = desk.stores;
    const now = new Date();
    model = (await createModel(database, { organisationId, bundle: checkBundle(sampleBundle()), now }))._id;
    const bundle = checkBundle(sampleBundle({ version: '2.0.0' }));
    await storeVersion({ database, organisationId, modelId: model, bundle, now });
  });
  after(() => desk.leave());

  const compared = async (changed?: Partial<StoredComparison>, of?: Partial<CandidateRun>) => {
    await desk.document('model', 'candidate', model, '2.0.0');
    await storeComparedRun(desk.stores.database, model, changed, of);
  };
  const shown = () => desk.document('model', 'compare', model);

  it('shows verdict, figures and moves, and the same as JSON', async () => {
    await compared();
    const { stdout, exitCode } = await desk.run('model', 'compare', model);
    expect(exitCode).to.equal(0);
    for (const text of [
      /Verdict +better/,
      /41,230 leads that had 90 days to convert, 412 of/,
      /50,350 leads by both versions; 9,120 may be among/,
      /31 % of these to another band; stability index 0\.04/,
      /Lift +2\.40 \[2\.10, 2\.70\] +2\.90 \[2\.60, 3\.20\] +0\.500 \[0\.200, 0\.800\]\n/,
      /AUC +0\.710 \[0\.690, 0\.730\] +0\.740 /,
      /80-100 +0 +0 +70 +1,000 +9,000/,
    ])
      expect(stdout).to.match(text);
    const document = await shown();
    expect(document).to.deep.include({ model_id: model, base: '1.0.0', candidate: '2.0.0' });
    expect(document.comparison).to.deep.equal({ ...sampleComparison, compared_at: '2026-05-10T00:00:00.000Z' });
    expect(document.summary).to.equal(
      'Better: the top fifth of the candidate converts 2.90 times as often as all leads, that of the current version ' +
        '2.40 times. It was judged with 400 conversions, and is judged again with 480. Sales worked by the scores of the ' +
        'current version, which favours it.',
    );
  });

  it('says in words what a verdict waits for', async () => {
    for (const [changed, says] of [
      [{ ...early, leads: 140, conversions: 12 }, /^Too early: 140 of 200 leads have matured and are named by/],
      [{ ...early, leads: 1_240, conversions: 12 }, /^Too early: 12 of 30 conversions\.$/],
      [{ ...early, leads: 210, conversions: 190 }, /^Too early: 20 of 30 leads that did not convert\.$/],
      [
        { verdict: 'too_early', missing_fields: ['industry'] },
        /^Too early: these fields .* with the leads: "industry"\./,
      ],
      [{ verdict: 'too_early' }, /^Too early: the difference is not clear yet; the top fifth of the candidate/],
      [{ verdict: 'worse' }, /^Worse: the top fifth/],
      [{ verdict: 'no_worse' }, /^No worse: the top fifth/],
    ] as const) {
      await compared(changed);
      expect((await shown()).summary).to.match(says);
    }
  });

  it('says how far the run is before the first comparison', async () => {
    await desk.document('model', 'candidate', model, '2.0.0');
    expect(await shown()).to.deep.include({ comparison: null });
    expect((await shown()).summary).to.match(/^The run begins within seconds/);
    await compared(undefined, { state: 'running', base: '0.9.0' });
    expect(await shown(), 'of another base').to.deep.include({ comparison: null, base: '1.0.0' });
    const { stdout } = await desk.run('model', 'compare', model);
    expect(stdout)
      .to.match(/Verdict +none yet/)
      .and.to.not.include('Lift');
  });

  it('needs a candidate', async () => {
    const { exitCode, stderr } = await desk.run('model', 'compare', model, '--json');
    expect(exitCode).to.be.above(0);
    const message = `${model} has no candidate. Import a version as a candidate, or make a stored one the candidate`;
    expect(JSON.parse(stderr).error).to.deep.include({ code: 'not_found', message });
  });
});
