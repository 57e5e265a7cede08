import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FaultProxy } from '../../../scripts/servers/fault-proxy.js';
import { callCli, startCli } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { expectJobExact, expectRedisExact, jobFile } from '../../support/jobs/job-checks.js';
import { deaths, jobFaultHooks, jobWithinMs, longDeadlineMs } from '../../support/jobs/job-faults.js';
import { workspace } from '../../support/service/workspace.js';

const rows = 40_000;
const pollMs = 100;
/** Long ids make an upload of several parts of 1 MiB. */
const tag = 'L'.repeat(100);
const exactWithinMs = 30_000;
/** The order leaves the job unfinished until the last one: without a runner or a server, no slice is scored. */
const whileItRuns = ['runner', 'MongoDB', 'Redis', 'pool', 'worker', 'gateway'] as const;

describe('leadscore score', () => {
  const service = jobFaultHooks({ deadlineMs: longDeadlineMs });
  /** The address of the service, which stays when its gateway is replaced. */
  let front: FaultProxy;
  let gatewayPort: number;
  let directory: string;

  const follow = (): void => {
    gatewayPort = Number(new URL(service().url(0)).port);
  };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-job-create-'));
    follow();
    front = await FaultProxy.start(() => gatewayPort);
  });
  after(async () => {
    await front?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  it('has each row once in its file after deaths of the command and of all processes and servers', async function () {
    this.timeout(3 * jobWithinMs);
    const own = await workspace(service(), { limit: 2 * rows });
    const file = jobFile(rows, tag);
    const [input, output] = [join(directory, 'leads.csv'), join(directory, 'scored.csv')];
    await writeFile(input, file.text);
    const words = [
      ...['score', input, '--model', own.model._id, '--key', own.live.secret],
      ...['--url', `http://127.0.0.1:${front.port}`, '--out', output],
    ];
    const die = (victim: keyof typeof deaths) => async () => {
      await deaths[victim](service());
      follow();
    };
    const cut = async (): Promise<void> => front.cutAll();
    /** Faults when so many thousandths of the rows have been sent. Five of them break the upload off. */
    const duringUpload = new Map<number, () => Promise<void>>([
      [200, cut],
      [350, die('gateway')],
      [500, die('Redis')],
      [600, die('MongoDB')],
      [800, die('gateway')],
      [950, cut],
    ]);
    const sent = (share: number) => front.next(`L-${(share * rows) / 1_000},`, 'held');

    const killed = sent(100);
    const first = startCli(words);
    await killed;
    first.process.kill('SIGKILL');
    await first.ended;
    front.cutAll();

    const moments = [...duringUpload].map(([share, cause]) => ({ cause, came: sent(share) }));
    const second = callCli(words, {}, '');
    for (const { cause, came } of moments) {
      await came;
      await cause();
      front.release();
    }

    const { jobs } = JSON.parse((await own.call('/v1/jobs')).text) as { jobs: readonly { readonly job_id: string }[] };
    expect(jobs, 'both commands have one job').to.have.length(1);
    const job = new BulkJob(own, jobs[0]?.job_id ?? '');
    await job.until('running', jobWithinMs);
    let recorded = 0;
    for (const victim of whileItRuns) {
      await eventually(
        async () => {
          const count = (await job.allSlices()).filter(({ outcome }) => outcome !== undefined).length;
          expect(count).to.be.above(recorded);
          recorded = count;
        },
        jobWithinMs,
        pollMs,
      );
      expect((await job.read()).state, `before the death of the ${victim}`).to.equal('running');
      await die(victim)();
    }

    const { exitCode, stdout, stderr } = await second;
    expect(exitCode, stderr).to.equal(0);
    expect(stdout).to.include(job.id);
    expect(stderr)
      .to.match(/Uploading .*100 %/)
      .and.match(/Scoring .*rows/);
    const { file: read } = await job.read();
    expect((await readFile(output, 'utf8')) === `${read?.header_line}${await job.text()}`, 'the output').to.equal(true);
    await expectJobExact(job, file, exactWithinMs);
    await expectRedisExact(job, exactWithinMs);
  });
});
