import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openApiDocument } from '../../../api/openapi/document.js';
import { exampleModelId } from '../../../api/openapi/examples.js';
import type { CodeSample } from '../../../api/openapi/openapi-types.js';
import { childEnvironment } from '../../../shared/config/config.js';
import { OpenApiContract } from '../../support/http/openapi-contract.js';
import { leaveOut } from '../../support/leave-out.js';
import { bashOptions } from '../../support/run-program.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { changeJob, newJob } from '../jobs/job-calls.js';

const timeoutMs = 60_000;
const { operations } = new OpenApiContract(
  openApiDocument({ keyBrand: 'acme', serverUrl: undefined, docsUrl: 'https://api.example.com/docs' }),
);
/** The state in which an operation needs its job. */
const stateOf: Readonly<Record<string, Parameters<typeof changeJob>[2]['state']>> = {
  ...{ pauseJob: 'running', resumeJob: 'paused', cancelJob: 'running', deleteJob: 'canceled' },
};
/** The program of a label, and its options before the source. */
const runners: Readonly<Record<string, readonly [program: string, ...options: string[]]>> = {
  curl: ['bash', ...bashOptions, '-c'],
  Node: ['node', '--input-type=module', '-e'],
  Python: ['python3', '-c'],
};

describe('the code samples of the OpenAPI document', () => {
  let service: RunningService;
  let directory: string;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    directory = await mkdtemp(join(tmpdir(), 'leadscore-samples-'));
    await writeFile(join(directory, 'leads.csv'), 'crm_id,company_size\nL-1,120\n');
  });
  beforeEach(async () => {
    own = await workspace(service);
  });
  after(() => directory && rm(directory, { recursive: true, force: true }));

  for (const { operationId, 'x-codeSamples': samples = [] } of operations.values()) {
    describe(operationId, () => {
      for (const sample of samples) {
        it(`succeed in ${sample.label}`, async function () {
          this.timeout(timeoutMs);
          if (sample.label === 'Python' && (await run({ ...sample, source: '' }, '')) !== '')
            leaveOut(this, 'this machine has no python3', 'install python3');
          const scored = await own.score([{ crm_id: 'LEAD-00042', company_size: 120 }]);
          expect(scored.status).to.equal(200);
          const { job_id: jobId } = await newJob(own);
          const state = stateOf[operationId];
          if (state !== undefined) await changeJob(service, jobId, { state });
          const printed = await run(sample, jobId);
          expect(printed, sample.source).to.not.match(/"error"|'error'|error:|^HTTP\S+ [345]|Traceback/m);
          if (sample.label === 'curl' && /-i |--head/.test(sample.source)) expect(printed).to.match(/^HTTP\S+ 20\d/m);
          else if (operationId !== 'getResults' && operationId !== 'getErrors') expect(printed.trim()).to.not.equal('');
        });
      }
    });
  }

  /** Returns the output of a sample, with the model and the job of the workspace in place of those of the examples. */
  function run({ label, source }: Pick<CodeSample, 'label' | 'source'>, jobId: string): Promise<string> {
    const [program, ...options] = runners[label] ?? ['false'];
    const filled = source.replaceAll(exampleModelId, own.model._id).replaceAll(/job_\w{26}(?!\w)/g, jobId);
    const variables = { LEADSCORE_URL: service.url(), LEADSCORE_KEY: own.live.secret };
    const settings = { cwd: directory, env: childEnvironment(variables), timeout: timeoutMs };
    return new Promise((resolve) => {
      execFile(program, [...options, filled], settings, (error, stdout, stderr) =>
        resolve(error === null ? stdout + stderr : `error: ${error.message}\n${stdout}${stderr}`),
      );
    });
  }
});
