import { expect } from 'chai';
import { gateFigures } from '../../../scripts/cli/commands/validation/show-validation.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { newId } from '../../../shared/contract/identifiers.js';
import type { FailingGate } from '../../../shared/contract/verdict.js';
import { itInFull } from '../../support/tier.js';
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

  /** Stores 250 leads that were scored 100 days ago, and their outcomes. */
  const recordMaturedLeads = async (): Promise<void> => {
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

  it('validation run grades a model and publishes the verdict', async () => {
    await recordMaturedLeads();
    const { graded } = await desk.document('validation', 'run', model);
    expect(graded).to.have.length(1);
    const [first] = graded as { model_id: string; version: string; validation: Record<string, unknown> }[];
    expect(first).to.deep.include({ model_id: model, version: '1.0.0' });
    expect(first?.validation).to.include({ state: 'passed', failing_gate: null });
    expect(first?.validation.gates).to.have.length(6);
    await desk.announced({ kind: 'validation', id: `${model}:1.0.0` });
  });

  it('validation run --as-of a past date stores a grade as of that date', async () => {
    await recordMaturedLeads();
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

  it('validation run --as-of a future date prints a verdict and does not store it', async () => {
    await recordMaturedLeads();
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

  it('validation run without a model grades all models except timing models', async () => {
    const timing = await desk.writeBundle({ family: 'timing' });
    const { model_id: other } = await desk.document('model', 'import', timing, '--org', organisation);
    const { graded } = await desk.document('validation', 'run');
    const ids = (graded as { model_id: string }[]).map(({ model_id }) => model_id);
    expect(ids).to.include(model).and.not.include(other);
    expect((await desk.run('validation', 'run', String(other))).stdout).to.include('is a timing model');
  });

  it('validation show prints the six gates with figures and the conversion rate by band', async () => {
    await recordMaturedLeads();
    await desk.run('validation', 'run', model);
    const { validation } = await desk.document('validation', 'show', model);
    expect(validation).to.include({ state: 'passed', failing_gate: null });
    expect(validation).to.have.property('gates').with.length(6);
    const { stdout } = await desk.run('validation', 'show', model);
    for (const text of [
      'Passed: all six validation gates cleared on 250 matured predictions, with top-band lift 1.8x.',
      'predictions_recorded',
      'cohort_reconciles',
      '250 of 250 (100 %, 95 % required)',
      'matured_cohort',
      'outcomes_observed',
      '125 of 30 conversions',
      'rate_rises_with_band',
      'top_band_lift',
      '1.8x (1.2x required)',
      '45 of 50',
      '90.0 %',
    ])
      expect(stdout.replace(/\s+/g, ' ')).to.include(text);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).to.be.at.most(80);
    const bars = stdout.split('\n').filter((line) => /^ *\d+-\d+ /.test(line));
    expect(bars.map((line) => line.trim().split(' ')[0])).to.deep.equal(['80-100', '60-79', '40-59', '20-39', '0-19']);
    const lengths = bars.map((line) => (line.match(/[█▒░]/g) ?? []).length);
    expect(lengths).to.deep.equal([...lengths].sort((one, other) => other - one));
  });

  it('validation show prints what a model without predictions still needs', async () => {
    const ungraded = (await desk.run('validation', 'show', model)).stdout;
    expect(ungraded).to.include(`validation run ${model}`);
    expect(ungraded.match(/not reached/g)).to.have.length(6);
    expect(ungraded).to.not.match(/[-\d] of [-\d]/);
    await desk.run('validation', 'run', model);
    const { stdout } = await desk.run('validation', 'show', model);
    expect(stdout.replace(/\s+/g, ' ')).to.match(
      /0 of 200 required predictions have been recorded; data until [-0-9]+ [:0-9]+ UTC counts, newer data from the grade after /,
    );
    for (const text of ['too early', 'not reached', 'Missing or wrong', 'no records']) expect(stdout).to.include(text);
    expect(stdout).not.to.include('NaN');
  });

  it('validation commands exit with 1 for an unknown model and with 2 for an invalid date', async () => {
    for (const words of [
      ['validation', 'run', newId('mdl')],
      ['validation', 'show', newId('mdl')],
    ])
      expect((await desk.run(...words)).exitCode).to.equal(1);
    expect((await desk.run('validation', 'run', '--as-of', 'tomorrow')).exitCode).to.equal(2);
    expect((await desk.run('validation', 'run', '--as-of', '2026-02-30')).exitCode).to.equal(2);
  });

  itInFull('validation simulate --json returns the final states of models of known quality', async function () {
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

const shown = (gate: FailingGate, figures: Readonly<Record<string, number>>): string =>
  gateFigures({ gate, state: 'cleared', figures });

describe('figures of a gate', () => {
  const lift = (of: number, lowerBound: number): string =>
    shown('top_band_lift', { lift: of, required_lift: 1.2, lower_bound: lowerBound });
  const rise = (p: number, drop: number): string =>
    shown('rate_rises_with_band', {
      ...{ z: 1.6449, p, required_p: 0.05 },
      ...{ worst_drop_p: drop, drop_threshold: 0.0125 },
    });
  const named = (share: number): string => shown('cohort_reconciles', { joined_share: share, required_share: 0.95 });

  it('have few digits, or more when few would hide the difference from the required value', () => {
    expect(lift(2.0812, 1.9712)).to.include('2.1x (1.2x required), lower bound 2.0x (above 1x)');
    expect(lift(1.1996, 1.1)).to.include('1.1996x (1.2x required)');
    expect(lift(1.2, 1)).to.include('1.2x (1.2x required), lower bound 1.0x (above 1x)');
    expect(lift(1.3, 1.0004)).to.include('lower bound 1.0004x (above 1x)');
    expect(rise(0.0499712, 0.3)).to.include('p 0.04997 (below 0.0500)');
    expect(rise(9.3e-96, 0.012498)).to.include('p 9.3e-96').and.include('0.012498 (not below 0.0125)');
  });

  it('contain the record counts of the judged top band and of the others', () => {
    const top = { top_conversions: 45, top_records: 1050, rest_conversions: 80, rest_records: 200 };
    expect(shown('top_band_lift', top)).to.match(/\ntop band 45 of 1,050, others 80 of 200$/);
  });

  it('are integers from 1,000 on, never in exponent notation', () => {
    const expected = (conversions: number): string => shown('outcomes_observed', { expected_conversions: conversions });
    expect(expected(1440.25)).to.include('1,440 expected');
    expect(expected(216_046.7)).to.include('216,047 expected');
    expect(expected(999.6)).to.include('1,000 expected');
    expect(expected(999.4)).to.include('999 expected');
  });

  it('round a share down, so that it never appears to reach its required value', () => {
    expect(named(0.9496)).to.include('(94.9 %, 95 % required)');
    expect(named(0.99995)).to.include('(99.9 %,');
    expect(named(1)).to.include('(100 %,');
    expect(named(0.95)).to.include('(95 %,');
    expect(named(0.992)).to.include('(99.2 %,');
  });
});
