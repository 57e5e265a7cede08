import { expect } from 'chai';
import { newId } from '../../../shared/identifiers.js';
import { dayMs } from '../../../shared/utc-day.js';
import { RecordedWorld } from '../../worker/grading/recorded-world.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

const conversions = [5, 15, 25, 35, 45];

describe('leadscore validation', () => {
  let desk: OperatorDesk;
  let organisation: string;
  let model: string;

  before(async () => {
    desk = await operatorDesk();
  });
  after(() => desk.leave());

  beforeEach(async () => {
    organisation = await desk.newOrganisation();
    const bundle = await desk.writeBundle();
    model = String((await desk.document('model', 'import', bundle, '--org', organisation)).model_id);
  });

  /** 250 leads that were scored a hundred days ago, and what became of them. */
  const liveAWhile = async (): Promise<void> => {
    const ids = { organisationId: organisation, modelId: model, version: '1.0.0' };
    const world = new RecordedWorld(desk.stores.database, ids);
    const scoredMs = Date.now() - 100 * dayMs;
    const leads = Array.from({ length: 250 }, (_, index) => ({
      number: Math.floor(index / 5),
      band: index % 5,
    }));
    await world.call(
      scoredMs,
      leads.map(({ number, band }) => ({ crmId: `${band}-${number}`, score: 20 * band + 10 })),
    );
    const at = new Date(scoredMs + 10 * dayMs);
    await world.outcomes(
      leads.map(({ number, band }) => ({
        crmId: `${band}-${number}`,
        converted: number < (conversions[band] ?? 0),
        at,
      })),
      Date.now(),
    );
  };

  it('run grades a model now, and tells the gateways', async () => {
    await liveAWhile();
    const { graded } = await desk.document('validation', 'run', model);
    expect(graded).to.have.length(1);
    const [first] = graded as { model_id: string; version: string; validation: Record<string, unknown> }[];
    expect(first).to.deep.include({ model_id: model, version: '1.0.0' });
    expect(first?.validation).to.include({ state: 'passed', failing_gate: null });
    expect(first?.validation.gates).to.have.length(6);
    await desk.announced({ kind: 'validation', id: model });
  });

  it('run --as-of moves the clock of the grade', async () => {
    await liveAWhile();
    const asOf = new Date(Date.now() - 50 * dayMs).toISOString();
    const { graded } = await desk.document('validation', 'run', model, '--as-of', asOf);
    const [first] = graded as { stored: boolean; validation: Record<string, unknown> }[];
    expect(first?.validation).to.include({
      state: 'too_early_to_grade',
      failing_gate: 'matured_cohort',
      as_of: asOf,
    });
    expect(first?.stored).to.equal(true);
    const { validation } = await desk.document('validation', 'show', model);
    expect(validation).to.include({ as_of: asOf });
    const { stdout } = await desk.run('validation', 'run', model, '--as-of', asOf);
    expect(stdout.replace(/\s+/g, ' ')).to.include('It is stored').and.include('until the next grade');
  });

  it('run --as-of a later date shows what the verdict would be, and says that it is not stored', async () => {
    await liveAWhile();
    await desk.run('validation', 'run', model, '--as-of', new Date(Date.now() - 50 * dayMs).toISOString());
    const { validation: before } = await desk.document('validation', 'show', model);
    const asOf = new Date(Date.now() + dayMs).toISOString();
    const { graded } = await desk.document('validation', 'run', model, '--as-of', asOf);
    const [first] = graded as { stored: boolean; validation: Record<string, unknown> }[];
    expect(first).to.include({ stored: false });
    expect(first?.validation).to.include({ state: 'passed', as_of: asOf });
    const { stdout } = await desk.run('validation', 'run', model, '--as-of', asOf);
    expect(stdout.replace(/\s+/g, ' '))
      .to.include(`A rehearsal as of ${asOf}`)
      .and.include('not stored')
      .and.include('Passed: all six');
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).to.be.at.most(80);
    expect((await desk.document('validation', 'show', model)).validation).to.deep.equal(before);
    const help = await desk.run('validation', 'run', '--help');
    expect(help.stdout).to.include('not stored');
  });

  it('run without a model grades all that are graded', async () => {
    const timing = await desk.writeBundle({ family: 'timing' });
    const { model_id: other } = await desk.document('model', 'import', timing, '--org', organisation);
    const { graded } = await desk.document('validation', 'run');
    const ids = (graded as { model_id: string }[]).map(({ model_id }) => model_id);
    expect(ids).to.include(model).and.not.include(other);
    expect((await desk.run('validation', 'run', String(other))).stdout).to.include('is a timing model');
  });

  it('show gives the six gates with figures, what is still needed, and the rate by band', async () => {
    await liveAWhile();
    await desk.run('validation', 'run', model);
    const { validation } = await desk.document('validation', 'show', model);
    expect(validation).to.include({ state: 'passed', failing_gate: null });
    expect(validation).to.have.property('gates').with.length(6);
    const { stdout } = await desk.run('validation', 'show', model);
    for (const text of [
      'Passed: all six validation gates cleared on 250 matured predictions, with top-band lift 1.8x.',
      'predictions_recorded',
      'cohort_reconciles',
      '250 of 250 (100 %, 95.0 % required)',
      'matured_cohort',
      'outcomes_observed',
      '125 of 30 conversions',
      'rate_rises_with_band',
      'top_band_lift',
      '1.80x (1.20x required)',
      '45 of 50',
      '90.0 %',
    ])
      expect(stdout.replace(/\s+/g, ' ')).to.include(text);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).to.be.at.most(80);
    const bars = stdout.split('\n').filter((line) => /^ *\d+-\d+ /.test(line));
    expect(bars.map((line) => line.trim().split(' ')[0])).to.deep.equal([
      '80-100',
      '60-79',
      '40-59',
      '20-39',
      '0-19',
    ]);
    const lengths = bars.map((line) => (line.match(/[█▒░]/g) ?? []).length);
    expect(lengths).to.deep.equal([...lengths].sort((one, other) => other - one));
  });

  it('show says of a young model what is still needed', async () => {
    expect((await desk.run('validation', 'show', model)).stdout).to.include(`validation run ${model}`);
    await desk.run('validation', 'run', model);
    const { stdout } = await desk.run('validation', 'show', model);
    expect(stdout.replace(/\s+/g, ' ')).to.include('0 of 200 required predictions have been recorded.');
    for (const text of ['too early', 'not reached', 'Still needed', 'no records'])
      expect(stdout).to.include(text);
    expect(stdout).not.to.include('NaN');
  });

  it('an unknown model fails with exit code 1, a date that is none with 2', async () => {
    for (const words of [
      ['validation', 'run', newId('mdl')],
      ['validation', 'show', newId('mdl')],
    ])
      expect((await desk.run(...words)).exitCode).to.equal(1);
    expect((await desk.run('validation', 'run', '--as-of', 'tomorrow')).exitCode).to.equal(2);
    expect((await desk.run('validation', 'run', '--as-of', '2026-02-30')).exitCode).to.equal(2);
  });

  it('simulate --json gives how models of which the truth is known end their years', async function () {
    this.timeout(60_000);
    const { scenarios } = await desk.document('validation', 'simulate', '--runs', '40');
    const of = (name: string) => {
      const found = (scenarios as Record<string, unknown>[]).find((scenario) => scenario.name === name);
      return found as { runs: number; passed: number; failed: number; too_early: number };
    };
    for (const { runs, passed, failed, too_early } of scenarios as ReturnType<typeof of>[]) {
      expect(runs).to.equal(40);
      expect(passed + failed + too_early).to.equal(runs);
    }
    expect(of('useless model').passed).to.be.at.most(2);
    expect(of('inverted model').passed).to.equal(0);
    expect(of('lift 2').passed).to.be.at.least(30);
    expect(of('lift 2, too few leads').too_early).to.equal(40);
    expect(of('nine of ten leads named').failed).to.equal(40);
  });
});
