import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';
import { StandInPython } from './stand-in-python.js';
import { StoredWorld } from './stored-world.js';

const training = {
  ...{ name: 'Sample score', version: '3.0.0', conversion_rate: 0.2, top_lift: 2 },
  ...{ rows: { leads: 200, held_out: 40 }, left_out: {} },
  auc: { held_out: { value: 0.8, low: 0.7, high: 0.9 } },
};

describe('leadscore train --from ORG', () => {
  let python: StandInPython;
  let desk: OperatorDesk;
  before(async () => {
    python = await StandInPython.create();
    desk = await operatorDesk();
  });
  after(async () => {
    await python.remove();
    await desk.leave();
  });

  /** A model of which 200 leads have an outcome, three have none and 40 converted. */
  async function worldWith(leads: number): Promise<StoredWorld> {
    const own = await StoredWorld.ofOrganisation(desk.stores.database, await desk.newOrganisation());
    const names = Array.from({ length: leads }, (_, index) => `person-${index}`);
    const rows = names.map((crmId, index) => ({ crmId, cells: [index], score: index % 100 }));
    await own.call('2026-05-01', [...rows, { crmId: 'silent', score: 85 }]);
    const outcomes = names.map((crmId, index) => ({ crmId, converted: index < 40 }));
    await own.outcomes(outcomes, '2026-06-01', '2026-10-01');
    return own;
  }

  const run = async ({ ids }: StoredWorld, ...more: readonly string[]) =>
    await callCli(
      ['train', '--from', ids.organisationId, '--model', ids.modelId, '--python', python.path, ...more],
      desk.settings,
    );

  it('hands the leads to the training by a pipe, imports nothing, and prints how to make a candidate', async () => {
    const own = await worldWith(200);
    const done = { folder: 'm', bundle: 'm/bundle', report: 'm/report.html', training };
    const steps = await python.file('stored', [{ readsRows: true }, { say: { done } }]);
    const { exitCode, stdout, stderr } = await run(own, '--out', steps, '--skip', 'lead_source', '--budget', '9');
    expect(exitCode, stderr).to.equal(0);
    const { words, rows } = await python.runOf(steps);
    expect(words).to.deep.equal(['--stored=3', '--budget=9', `--out=${steps}`, '--json-lines']);
    const [head = '', ...lines] = rows;
    const { features, ...shape } = JSON.parse(head);
    expect(shape).to.deep.equal({
      ...{ version: '2.0.0', name: 'Sample score', horizon_days: 90, columns: ['company_size', 'demo_requested'] },
      missing_tokens: [],
      counts: {
        ...{ unnamed: 1, unnamed_by_band: [0, 0, 0, 0, 1], converted_before: 0 },
        ...{ before_since: 0, immature: 0, without_fields: 0 },
      },
    });
    expect(features.map(({ field }: { readonly field: string }) => field)).to.deep.equal(shape.columns);
    expect(lines).to.have.length(201);
    expect(JSON.parse(lines[0] ?? '')).to.deep.include({ converted: true, score: 0, cells: [0, null] });
    expect(JSON.parse(lines.at(-1) ?? '')).to.deep.equal({ end: 200 });
    expect(rows.join()).to.not.include('person');
    const { organisationId, modelId } = own.ids;
    expect(stdout).to.include(
      `npx leadscore model import m/bundle --org ${organisationId} --model ${modelId} --candidate`,
    );
    expect(stderr).to.include('Training on 200 stored leads').and.include('1 without an outcome');
    const { version, candidate } = (await desk.stores.models.find(modelId)) ?? {};
    expect([version, candidate]).to.deep.equal(['2.0.0', undefined]);
  });

  it('starts no training without enough leads', async () => {
    const steps = await python.file('few', []);
    const { exitCode, stderr } = await run(await worldWith(150), '--out', steps, '--json');
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error).to.include({ code: 'too_few_leads', leads: 150, conversions: 40 });
    expect(python.hasRun(steps)).to.equal(false);
  });

  it('refuses options of files, and arguments that do not go together', async () => {
    const stored = ['train', '--from', 'org_a', '--model', 'mdl_a'];
    for (const [words, part] of [
      [['train'], 'Give a file of past leads, or --from'],
      [['train', '--from', 'org_a'], '--from needs --model'],
      [['train', 'a.csv', '--from', 'org_a', '--model', 'mdl_a'], 'Give a file, or --from'],
      [['train', 'a.csv', '--converted', 'Won', '--model', 'mdl_a'], '--model needs --from'],
      [[...stored, '--org', 'org_a'], '--org imports a new model'],
      [[...stored, '--converted-at', 'Closed'], '--converted-at is for a file'],
      [[...stored, '--keep', 'Tags'], '--keep is for a file'],
      [[...stored, '--since', 'May'], 'ISO 8601'],
    ] as const) {
      const { exitCode, stderr } = await callCli(words);
      expect(exitCode, words.join(' ')).to.equal(2);
      expect(stderr).to.include(part);
    }
  });
});
