import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { projectFile } from '../../shared/process/project-root.js';
import { scored } from '../support/http/score-reply.js';
import { notInstalled } from '../support/leave-out.js';
import { exporterInstallLimitMs, exporterVenv } from '../support/models/exporter-venv.js';
import { runProgram } from '../support/run-program.js';
import { runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

/** New leads, and the probability with which each converts. */
interface NewLeads {
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly rates: readonly number[];
}

const trainingLimitMs = 240_000;

describe('an exported model, called over HTTP', () => {
  let directory: string;

  let program: (name: string) => string;

  before(async function () {
    this.timeout(2 * exporterInstallLimitMs);
    const venv = await exporterVenv();
    if ('reason' in venv) notInstalled(this, venv);
    program = venv.program;
    directory = await mkdtemp(join(tmpdir(), 'leadscore-likelihoods-'));
  });
  after(() => directory && rm(directory, { recursive: true, force: true }));

  it('gives new leads the likelihoods at which they convert, whatever kind of model it is', async function () {
    this.timeout(trainingLimitMs + startTimeoutMs + 30_000);
    const { exitCode, output } = await runProgram(
      program('python'),
      [projectFile('test/support/models/train_every_kind.py'), directory],
      {
        environment: { PYTHONPATH: projectFile('scripts/export'), PYTHONDONTWRITEBYTECODE: '1' },
        limitMs: trainingLimitMs,
      },
    );
    expect(exitCode, output).to.equal(0);
    const { records, rates }: NewLeads = JSON.parse(await readFile(join(directory, 'leads.json'), 'utf8'));
    expect(records).to.have.length(300);

    const organisation = await workspace(await runningService());
    const kinds = await readdir(join(directory, 'bundles'));
    expect(kinds).to.have.length(10);
    const models = new Map<string, string>();
    for (const kind of kinds) {
      const bundle = await readBundle(join(directory, 'bundles', kind));
      models.set(kind, (await organisation.addModel({ bundle }))._id);
    }
    for (const [kind, modelId] of models) {
      const { scores } = scored(await organisation.score(records, { modelId }));
      const likelihoods = scores.map((row) => row.conversion_likelihood);
      expectNear(likelihoods, rates, kind);
      // The half with the higher true rates shows that a model does more than repeat the rate of its training.
      const middle = [...rates].sort((a, b) => a - b)[rates.length / 2] ?? Number.NaN;
      const isStrong = (_: number, row: number): boolean => (rates[row] ?? 0) >= middle;
      expectNear(likelihoods.filter(isStrong), rates.filter(isStrong), `${kind}, the better half`);
    }
  });
});

/** Asserts that the mean of the likelihoods is within a quarter of the mean rate. */
function expectNear(likelihoods: readonly number[], rates: readonly number[], of: string): void {
  const rate = mean(rates);
  expect(mean(likelihoods), of).to.be.within(rate * 0.75, rate * 1.25);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
