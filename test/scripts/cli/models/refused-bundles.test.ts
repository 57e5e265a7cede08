import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../../../../shared/process/project-root.js';
import { leaveOut } from '../../../support/leave-out.js';
import { requireReferenceBundles } from '../../../support/models/golden-records.js';
import { wrongBundles } from '../../../support/models/wrong-graphs.js';
import { itInFull } from '../../../support/tier.js';
import { callCli, runCliProcess } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

/** Bundles that are wrong each in one way, beside the project. */
const cases = projectFile('../shared/cases/bundles');

/** The reason for which each is refused. */
const reasons: Readonly<Record<string, RegExp>> = {
  '2logits-logit': /not \[-s, s\].*end the graph in Softmax/,
  '2logits-prob': /a logit of each class: end the graph in Softmax/,
  axis0: /depends on the other records of the call/,
  dropout: /"Dropout" is in training mode.*export the model for inference/,
  'feature-27': /reads column 27, outside 0\.\.1: convert the model/,
  'logsoftmax-prob': /LogSoftmax.*end the graph in Softmax/,
  oneclass: /is the same for every record.*train the model again/,
  percent: /percentage: divide it by 100/,
  'platt-neg': /calibration\.a is -1.*check positive_class/,
  'q-zero': /quantiles are all 0: give the percentiles/,
  rowmean: /depends on the other records of the call.*ReduceMean over axis 0/,
  'scalar-out': /1 values for 32 rows\. Remedy: let the output have a row for each record/,
  'softmax-kindlogit': /set onnx.kind to "probability"/,
};

describe('leadscore model check and import refuse', () => {
  let desk: OperatorDesk;
  let organisation: string;
  let directory: string;

  before(async () => {
    desk = await operatorDesk();
    organisation = await desk.newOrganisation();
    directory = await mkdtemp(join(tmpdir(), 'leadscore-refused-'));
  });
  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true, force: true });
  });

  const documents = async (): Promise<number> => {
    const { database } = desk.stores;
    const counts = ['models', 'model_versions', 'bundles.files', 'bundles.chunks'].map((name) =>
      database.collection(name).countDocuments(),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };

  /** Asserts that both commands refuse the bundle for the reason, with the code, and store nothing. */
  async function expectRefused(path: string, reason: RegExp): Promise<void> {
    const check = await callCli(['model', 'check', path, '--json'], desk.settings);
    expect(check).to.include({ exitCode: 1, stderr: '' });
    const [finding] = JSON.parse(check.stdout).bundles;
    expect(finding).to.include({ passed: false, code: 'bad_bundle' });
    expect(finding.problem).to.match(reason);
    const imported = await callCli(['model', 'import', path, '--org', organisation, '--json'], desk.settings);
    expect(imported).to.include({ exitCode: 1, stdout: '' });
    const { error } = JSON.parse(imported.stderr);
    expect(error).to.include({ code: 'bad_bundle', message: finding.problem });
    expect(await documents()).to.equal(0);
  }

  itInFull('every bundle of the collection of wrong ones', async function () {
    this.timeout(120_000);
    if (!existsSync(cases))
      leaveOut(this, 'the wrong bundles are not beside the project', 'put them into ../shared/cases');
    expect(readdirSync(cases)).to.have.members(Object.keys(reasons));
    for (const [name, reason] of Object.entries(reasons)) await expectRefused(join(cases, name), reason);
  });

  for (const [title, files, reason] of wrongBundles.filter((_, index) => index % 4 === 0)) {
    it(title, async () => {
      const path = await mkdtemp(join(directory, 'bundle-'));
      for (const [file, bytes] of files()) await writeFile(join(path, file), bytes);
      await expectRefused(path, reason);
    });
  }

  it('a model that ONNX Runtime does not run, with its sentence and nothing else on standard error', async function () {
    this.timeout(60_000);
    const [, files] = wrongBundles.find(([title]) => title === 'layers that do not fit each other') ?? [];
    const path = join(directory, 'layers');
    await mkdir(path);
    for (const [file, bytes] of files?.() ?? []) await writeFile(join(path, file), bytes);
    const check = await runCliProcess(['model', 'check', path, '--json'], desk.settings);
    expect(check).to.include({ exitCode: 1, stderr: '' });
    const { stderr, stdout } = await runCliProcess(
      ['model', 'import', path, '--org', organisation, '--json'],
      desk.settings,
    );
    expect(stdout).to.equal('');
    expect(stderr.trim().split('\n')).to.have.length(1);
    const { error } = JSON.parse(stderr);
    expect(error).to.include({ code: 'bad_bundle', member: 'model.onnx' });
    expect(error.message).to.match(/ONNX Runtime does not run it: .*Mul.*Remedy: /);
  });
});

describe('leadscore model import', () => {
  itInFull('imports every reference model, without a note', async function () {
    this.timeout(120_000);
    const paths = requireReferenceBundles(this);
    const desk = await operatorDesk();
    try {
      const organisation = await desk.newOrganisation();
      for (const path of paths) {
        const imported = await desk.document('model', 'import', path, '--org', organisation);
        expect(imported).to.have.property('model_id');
        expect(imported).to.not.have.property('notes');
      }
    } finally {
      await desk.leave();
    }
  });
});
