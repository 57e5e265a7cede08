import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { childEnvironment } from '../../shared/config/config.js';
import { invisibleCharacters } from '../../shared/contract/texts.js';
import { compileKnownFields } from '../../shared/messages/field-slots.js';
import { projectFile } from '../../shared/process/project-root.js';
import { compileFeatureRow } from '../../worker/feature-row/feature-row.js';
import { notInstalled } from '../support/leave-out.js';
import { exporterInstallLimitMs, exporterVenv } from '../support/models/exporter-venv.js';
import { messyManifest, messyRecord } from '../support/models/messy-records.js';
import { runProgram } from '../support/run-program.js';

const now = '2026-11-20T12:34:56.789Z';

/** A row of numbers with null for NaN, or undefined for a refused record. */
type Row = readonly (number | null)[] | undefined;

describe('the Python exporter', () => {
  let program: (name: string) => string;
  let directory: string;

  before(async function () {
    this.timeout(2 * exporterInstallLimitMs);
    const venv = await exporterVenv();
    if ('reason' in venv) notInstalled(this, venv);
    program = venv.program;
    directory = await mkdtemp(join(tmpdir(), 'leadscore-export-'));
  });

  after(() => directory && rm(directory, { recursive: true, force: true }));

  const python = async (commandLine: readonly string[], limitMs: number): Promise<string> => {
    const { exitCode, output } = await runProgram(program('python'), commandLine, {
      directory: projectFile('scripts/export'),
      environment: {
        PATH: [dirname(process.execPath), childEnvironment({}).PATH].join(delimiter),
        PYTHONPATH: projectFile('scripts/export'),
        PYTHONUTF8: '1',
        PYTHONDONTWRITEBYTECODE: '',
      },
      limitMs,
    });
    expect(exitCode, output).to.equal(0);
    return output;
  };

  it('makes the same rows from messy records as the service', async () => {
    const seed = Date.now() % 2 ** 31;
    // Both lists of invisible characters are the same: a name with one more would be another name.
    const pattern = new RegExp(`[${invisibleCharacters}]`);
    const invisible = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter((each) =>
      pattern.test(each),
    );
    expect(invisible).to.have.length.of.at.least(3);
    const records = [
      ...fc.sample(messyRecord, { numRuns: 4000, seed }),
      ...invisible.map((each) => ({ [`lead${each}source`]: 'a' })),
    ];
    const files = { manifest: join(directory, 'manifest.json'), records: join(directory, 'records.jsonl') };
    await writeFile(files.manifest, JSON.stringify(messyManifest));
    await writeFile(files.records, records.map((record) => `${JSON.stringify(record)}\n`).join(''));

    const commandLine = ['-m', 'leadscore_export', files.manifest, files.records, '--now', now];
    const lines = (await python(commandLine, 35_000)).trimEnd().split('\n');
    expect(lines).to.have.length(records.length);
    const served = records.map(serviceRow());
    expect(served.filter((row) => row !== undefined).length).to.be.greaterThan(2000);
    for (const [index, line] of lines.entries()) {
      const context = `seed ${seed}, ${JSON.stringify(records[index])}`;
      expect(float32Row(JSON.parse(line)), context).to.deep.equal(served[index]);
    }
  });

  for (const [what, ...parts] of [
    ['passes its own tests, in which the service checks a bundle of every trainer', 'tests', '--ignore=tests/train'],
    ['passes the tests of its training on past leads', 'tests/train'],
  ] as const)
    it(what, async function () {
      this.timeout(1_210_000);
      const output = await python(['-m', 'pytest', '-p', 'no:cacheprovider', '--color=no', ...parts], 1_200_000);
      for (const [line] of output.matchAll(/^SKIPPED .*$/gm)) console.log(`      ${line}`);
      // The suite also leaves out tests when the service is not built. Here it is.
      const hidden = output.match(/^SKIPPED (?!.*there is no table of real leads).*$/gm) ?? [];
      expect(output).to.match(/\d+ passed/);
      expect(hidden).to.deep.equal([]);
    });

  it('keeps the rules of its pyproject.toml (ruff)', async () => {
    const { exitCode, output } = await runProgram(program('ruff'), ['check', '--no-cache', '.'], {
      directory: projectFile('scripts/export'),
      limitMs: 30_000,
    });
    expect(exitCode, output).to.equal(0);
  });

  it('has an example that converts a CSV to a bundle that model check passes', async function () {
    this.timeout(100_000);
    const leads = join(directory, 'leads.csv');
    const bundle = join(directory, 'bundle');
    const at = '2026-11-20T00:00:00Z';
    await node('dist/scripts/demo/write-leads.js', ['--seed', '3', '--count', '2500', '--now', at, '--out', leads]);
    const report = await python(['examples/train_and_export.py', leads, at, bundle], 60_000);
    expect(report).to.match(/golden records +200\n/);
    const checked = JSON.parse(await node('dist/scripts/cli/main.js', ['model', 'check', bundle, '--json']));
    expect(checked.bundles[0]).to.include({ name: 'Lead conversion', features: 11, passed: true });
    expect(checked.bundles[0].golden).to.include({
      records: 200,
      score_mismatches: 0,
      likelihood_mismatches: 0,
    });
  });
});

async function node(script: string, commandLine: readonly string[]): Promise<string> {
  const { exitCode, output } = await runProgram(process.execPath, [projectFile(script), ...commandLine], {
    limitMs: 30_000,
  });
  expect(exitCode, output).to.equal(0);
  return output;
}

/** The service's row for a record. */
function serviceRow(): (record: Readonly<Record<string, unknown>>) => Row {
  const knownFields = compileKnownFields(messyManifest);
  const featureRow = compileFeatureRow(messyManifest, knownFields);
  const nowMs = Date.parse(now);
  return (record) => {
    const out = new Float32Array(featureRow.width);
    const sent = JSON.parse(JSON.stringify(record));
    const problems = featureRow.write({ cells: knownFields.pack(sent), nowMs, out, offset: 0 });
    return problems === undefined ? Array.from(out, (value) => (Number.isNaN(value) ? null : value)) : undefined;
  };
}

/** The exporter's printed row, rounded to float32 as in the service. */
function float32Row(printed: { readonly unusable: string } | readonly (number | null)[]): Row {
  if ('unusable' in printed) return undefined;
  return printed.map((value) => (value === null ? null : Math.fround(value)));
}
