import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { BundleFiles } from '../../../../shared/bundle/bundle-files.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { eventually } from '../../../support/eventually.js';
import { scored } from '../../../support/http/score-reply.js';
import { markdownBlocks } from '../../../support/markdown-blocks.js';
import { runProgram } from '../../../support/run-program.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { cliDocument, settingsOf } from '../cli-call.js';
import { installLimitMs, realPython, trainingLimitMs } from './real-python.js';
import { reportOutcomes, storeHistory, weakBundle } from './stored-history.js';

const leadsPerDay = 100;
/** Days ago with first scores whose horizon of 90 days is over. */
const maturedDays = Array.from({ length: 28 }, (_, index) => 365 - 9 * index);
const youngDays = [60, 20];
const unreported = 40;
/** The runner looks for candidates each five seconds, and the lane of grades waits for other work. */
const comparisonLimitMs = 120_000;

/** Leads of training.json by their earlier scores. */
interface EarlierBand {
  readonly leads: number;
  /** The share with an outcome. */
  readonly named: number | null;
}

describe('leadscore train --from ORG, with Python', () => {
  const [block] = markdownBlocks(readFileSync(projectFile('docs/train.md'), 'utf8')).filter(
    ({ language, heading }) => language === 'sh' && heading === 'Stored leads',
  );
  const lines = (block?.text ?? '').trimEnd().split('\n');
  let service: RunningService;
  let own: TestWorkspace;
  let bundle: BundleFiles;
  let settings: Record<string, string>;
  let folder: string;

  before(async function () {
    this.timeout(installLimitMs + 2 * startTimeoutMs);
    await realPython(this);
    service = await sharedService('bulk');
    settings = await settingsOf(service);
    bundle = await weakBundle();
    own = await workspace(service, { bundle });
    folder = await mkdtemp(join(tmpdir(), 'leadscore-stored-'));
    const leads = await storeHistory(own, bundle, { days: [...maturedDays, ...youngDays], leadsPerDay });
    await reportOutcomes(own, leads.slice(unreported, maturedDays.length * leadsPerDay));
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  /** Runs a command of the document in the folder. */
  const run = async (line = ''): Promise<string> => {
    const words = commandOf(line, own).split(/ +/);
    expect(words.splice(0, 2), line).to.deep.equal(['npx', 'leadscore']);
    const { exitCode, output } = await runProgram(
      process.execPath,
      [projectFile('dist/scripts/cli/main.js'), ...words],
      { directory: folder, environment: settings, limitMs: trainingLimitMs },
    );
    expect(exitCode, `${line}\n${output}`).to.equal(0);
    return output;
  };

  it('makes a candidate of stored leads that is judged, promoted and scores calls, by the commands of docs/train.md', async function () {
    this.timeout(trainingLimitMs + comparisonLimitMs + startTimeoutMs);
    const [train, importLine = '', compare, promote] = lines;
    const record = { 'Lead Source': 'Referral', 'Demo Requested': true, 'Website Visits (30d)': 12 };
    const before = scored(await own.score([record]));
    expect(before.model_version).to.equal('1.0.0');

    const output = await run(train);
    expect(output)
      .to.match(/Training on 2,760 stored leads, for the fields of version "1\.0\.0"\./)
      .and.include('200 first scored after')
      .and.include('40 without an outcome')
      .and.include(`Make it the candidate: ${commandOf(importLine, own)}\n`);
    const model = join(folder, `${own.model._id}-model`);
    const training = JSON.parse(await readFile(join(model, 'training.json'), 'utf8'));
    expect(training.rows).to.include({ leads: 2_760, unnamed: 40, immature: 200, converted_before: 0 });
    const { auc, version, ...selection } = training.selection;
    const bands: readonly EarlierBand[] = selection.bands;
    expect(version).to.equal('1.0.0');
    expect(bands.reduce((sum, { leads }) => sum + leads, 0)).to.equal(2_760);
    const scoredThen = bands.reduce((sum, { leads, named }) => sum + Math.round(leads / (named ?? 1)), 0);
    expect(scoredThen, 'with those that have no outcome').to.equal(2_800);
    expect(auc.leads).to.equal(training.rows.held_out);
    expect(auc.new.low).to.be.above(auc.earlier);
    expect(await readFile(join(model, 'report.html'), 'utf8')).to.include('called first');

    await run(importLine);
    expect(scored(await own.score([record])).model_version, 'a candidate scores no call').to.equal('1.0.0');
    const { comparison } = await eventually(
      async () => {
        const document = await cliDocument(['model', 'compare', own.model._id], settings);
        expect(document.comparison).to.be.an('object');
        return document as { readonly comparison: Readonly<Record<string, unknown>> };
      },
      comparisonLimitMs,
      1_000,
    );
    expect(comparison).to.include({ verdict: 'better', leads: training.rows.held_out });
    expect(await run(compare)).to.match(/Verdict +better/);
    await run(promote);
    const after = await eventually(async () => {
      const reply = scored(await own.score([record]));
      expect(reply.model_version).to.equal(training.version);
      return reply;
    });
    expect(after.scores[0]?.score).to.be.above(before.scores[0]?.score ?? 100);
  });
});

/** A command of the document without its remark, with the ids of the workspace. */
const commandOf = (line: string, { id, model }: TestWorkspace): string =>
  line.replace(/ +#.*/, '').replaceAll('org_...', id).replaceAll('mdl_...', model._id);
