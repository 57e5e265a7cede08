import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { httpCall } from '../../support/http/http-call.js';
import { runSchemathesis, type SchemathesisResult } from '../../support/http/schemathesis-run.js';
import { notInstalled } from '../../support/leave-out.js';
import { pythonVenv } from '../../support/python-venv.js';
import { runProgram } from '../../support/run-program.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const installLimitMs = 180_000;
const venvTimeoutMs = 240_000;
/** It takes all of two cores for a minute, which other tests share. */
const runLimitMs = 480_000;
/** Fields of the model of `sampleBundle()`. */
const knownFields = { company_size: { type: 'integer' }, demo_requested: { type: 'boolean' } };

describe('external validators of the OpenAPI documents', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let directory: string;
  let program: (name: string) => string;

  before(async function () {
    this.timeout(venvTimeoutMs + startTimeoutMs);
    const venv = await pythonVenv({
      name: 'schemathesis',
      requirementsFile: 'test/support/http/schemathesis-requirements.txt',
      minMinor: 11,
      installLimitMs,
    });
    if ('reason' in venv) notInstalled(this, venv);
    program = venv.program;
    service = await runningService();
    own = await workspace(service, { plan: 'enterprise', limit: 100_000_000 });
    directory = await mkdtemp(join(tmpdir(), 'leadscore-schemathesis-'));
  });
  after(() => directory && rm(directory, { recursive: true, force: true }));

  for (const name of ['openapi.json', 'openapi-3.0.json']) {
    it(`accepts ${name} with openapi-spec-validator`, async function () {
      this.timeout(60_000);
      const file = join(directory, name);
      await writeFile(file, await documentAt(name));
      const { exitCode, output } = await runProgram(program('openapi-spec-validator'), [file], {
        limitMs: 50_000,
      });
      expect(exitCode, output).to.equal(0);
    });
  }

  it('finds no undocumented reply and no accepted invalid input with Schemathesis', async function () {
    this.timeout(runLimitMs + 10_000);
    const commandLine = ['--phases', 'examples,coverage,fuzzing,stateful', '-n', '25', '--seed', '1'];
    expectNoFindings(await schemathesis(commandLine));
  });

  const documentAt = async (name: string): Promise<string> =>
    (await httpCall(`${service.url()}/${name}`, { method: 'GET' })).text;

  const schemathesis = async (commandLine: readonly string[]): Promise<SchemathesisResult> =>
    runSchemathesis({
      program: program('st'),
      directory,
      url: service.url(),
      document: await documentAt('openapi.json'),
      secret: own.live.secret,
      modelId: own.model._id,
      knownFields,
      commandLine,
      limitMs: runLimitMs,
    });
});

function expectNoFindings({ exitCode, output, accepted }: SchemathesisResult): void {
  if (exitCode !== 0) throw new Error(`Schemathesis exited with ${exitCode}:\n${output}`);
  for (const operation of ['POST /v1/score', 'POST /v1/webhooks/score', 'GET /v1/models/{model_id}'])
    expect(accepted.get(operation), `successful calls of ${operation}`).to.be.above(2);
}
