import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { pastSpan, pastStates } from '../../scripts/demo/tour/past-states.js';
import { generateLeads } from '../../scripts/leads/lead-generator.js';
import { readServerRecord } from '../../scripts/servers/private-servers.js';
import { isRunningOn } from '../../scripts/servers/server-process.js';
import type { leadSchema } from '../../shared/admin/schemas/leads.js';
import type { sessionOutput } from '../../shared/admin/schemas/people.js';
import { childEnvironment } from '../../shared/config/config.js';
import { dayMs } from '../../shared/contract/dates.js';
import { callIdFloor } from '../../shared/contract/identifiers.js';
import type { ShapeOf } from '../../shared/contract/schema.js';
import { projectFile } from '../../shared/process/project-root.js';
import { leaveOut } from '../support/leave-out.js';
import { itInFull } from '../support/tier.js';

const mainFile = projectFile('dist/scripts/demo/main.js');

describe('demo', function () {
  this.timeout(120_000);
  let parent: string;
  let directory: string;
  let runs: DemoRun[];

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'leadscore-demo-'));
    directory = join(parent, 'demo');
    runs = [];
  });

  afterEach(async () => {
    for (const run of runs) await run.stopped(); // also when an assertion failed
    await rm(parent, { recursive: true, force: true });
  });

  const demo = (...words: string[]): DemoRun => {
    const run = new DemoRun(directory, words);
    runs.push(run);
    return run;
  };

  it('shows leads, scores, ranking, movers, usage and a call, and leaves no process and no file', async () => {
    const run = demo('--records', '200');
    await run.shows('  servers');
    await run.noteServers();
    expect(await run.outcome()).to.deep.equal({ code: 0, stderr: '' });

    const shown = run.stdout;
    expect(shown).to.match(/200 records in 1 HTTP call and [\d.]+ s: [\d,]+ a second on this machine\./);
    expect(shown).to.match(/The 8 best leads, and the last 4\n/);
    expect(shown.match(/^ {2}LEAD-\d{5} +\d{1,3} +[01]\.\d{4} {2}\S.*$/gm)).to.have.length(12);
    expect(shown).to.match(/\((raises|lowers) the\s+score\)/);
    expect(shown).to.match(/^ {2}score 80-100 {2}█.* %/m);
    expect(shown).to.include('synthetic');
    expect(shown).to.include('200 were known and come back enriched');
    expect(shown).to.match(/"enriched":true,\s*"crm_id":"LEAD-\d{5}","previous_score":\d+,"delta":\d+\}/);
    expect(shown)
      .to.match(/ \+\d+$/m)
      .and.to.match(/ -\d+$/m);
    expect(shown).to.match(/^ {2}Industry +100 % +7 +Biotech$/m);
    expect(shown).to.include('\n  Lead Sources: did you mean Lead Source?\n');
    expect(shown).to.match(/^With both corrected, \d+ of the 20 scores change: PARTNER-0\d\d from \d+ to \d+\.$/m);
    expect(shown).to.include('453 of 10,000 records');
    expect(shown).to.match(/^curl -s http:\/\/127\.0\.0\.1:\d+\/v1\/score \\$/m);
    expect(shown).to.include('npm run demo -- --keep').and.to.include('README.md');
    expect(shown).to.include('Everything is stopped and removed again');

    expect(controlCharacters(shown)).to.deep.equal([]);
    const lines = shown.replaceAll(directory, '.local/demo').split('\n'); // the default directory
    expect(lines.filter((line) => line.length > 80 && !mayBeLong(line))).to.deep.equal([]);
    expect(await run.leftRunning()).to.deep.equal([]);
    expect(await readdir(parent)).to.deep.equal([]);
  });

  itInFull('prints one document and nothing else with --json', async () => {
    const run = demo('--records', '150', '--seed', '5', '--json');
    expect(await run.outcome()).to.deep.equal({ code: 0, stderr: '' });
    expect(run.stdout).to.match(/^\{.*\}\n$/);
    const document = JSON.parse(run.stdout);
    expect(document).to.include({ records: 150, seed: 5, kept: false, plan: 'pro' });
    expect(document.first_pass).to.include({ records: 150, calls: 1, enriched: 0 });
    expect(document.second_pass).to.include({ records: 150, calls: 1, enriched: 150 });
    const { up, down, same, changed } = document.second_pass;
    expect(up + down + same).to.equal(150);
    expect(up + down).to.be.within(1, changed);
    const binned = document.first_pass.histogram.reduce((sum: number, bin: { count: number }) => sum + bin.count, 0);
    expect(binned).to.equal(150);
    expect(document.ranking.auc).to.be.within(0.65, 1);
    expect(document.partner_file).to.include({ records: 20 });
    expect(document.partner_file.changed).to.be.within(10, 20);
    const { fields, ignored } = document.partner_file.input_summary;
    const found = fields.filter(({ unread, unseen }: Record<string, number>) => unread || unseen);
    expect(found).to.deep.equal([{ field: 'Industry', sent: 20, unread: 0, unseen: 7, examples: ['Biotech'] }]);
    expect(ignored[0]).to.deep.equal({ name: 'Lead Sources', records: 20, did_you_mean: 'Lead Source' });
    expect(document.usage).to.deep.equal({
      current: 353,
      limit: 10_000,
      remaining: 9647,
      in_grace: false,
      backstop: 20_000,
    });
    expect(document.urls.score).to.match(/^http:\/\/127\.0\.0\.1:\d+\/v1\/score$/);
    expect(await run.leftRunning()).to.deep.equal([]);
    expect(await readdir(parent)).to.deep.equal([]);
  });

  itInFull('with --keep answers the call that it shows, refuses a second demo, and stops on Ctrl-C', async function () {
    if (spawnSync('curl', ['--version']).error !== undefined)
      leaveOut(this, 'this machine has no curl', 'install curl');
    const run = demo('--records', '60', '--keep');
    await run.shows('Ctrl-C stops it.');
    await run.noteServers();

    const curl = /^curl .*?\}\]\}'$/ms.exec(run.stdout)?.[0] ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
    const reply = JSON.parse(stdout);
    expect(reply.records_scored).to.equal(1);
    expect(reply.scores[0]).to.include({ enriched: true, delta: 0 });
    // The calls of the tour, this one, and those of the made-up past that fall into this month.
    expect(reply.usage.current).to.be.at.least(174);
    const link = /^http:\/\/127\.0\.0\.1:\d+\/login#[\w-]{43}$/m.exec(run.stdout)?.[0] ?? '';
    await expectMovingLead(link);

    const second = demo('--records', '60');
    expect(await second.ended).to.equal(1);
    expect(second.stderr).to.include('A demo is up already').and.to.include(String(run.pid));

    run.interrupt();
    expect(await run.outcome()).to.deep.equal({ code: 0, stderr: '' });
    expect(await run.leftRunning()).to.deep.equal([]);
    expect(await readdir(directory)).to.include.members(['leads.csv', 'gateway.log', 'workers.log']);
    expect(run.stdout).to.not.include('{"level"');
  });

  itInFull('starts again on the directory that --keep has left', async () => {
    const run = demo('--records', '60', '--keep');
    await run.shows('Ctrl-C stops it.');
    run.interrupt();
    expect(await run.outcome()).to.deep.equal({ code: 0, stderr: '' });
    const next = demo('--records', '20', '--json');
    expect(await next.outcome()).to.deep.equal({ code: 0, stderr: '' });
    expect(JSON.parse(next.stdout).usage.current).to.equal(93);
  });

  itInFull('stops its servers and removes its files after two Ctrl-C during the start', async () => {
    const run = demo();
    await run.shows('  servers');
    await run.noteServers();
    run.interrupt();
    run.interrupt();
    expect(await run.outcome()).to.deep.equal({ code: 130, stderr: '' });
    expect(await run.leftRunning()).to.deep.equal([]);
    expect(await readdir(parent)).to.deep.equal([]);
  });

  it('exits with 2 for a wrong option value, lists the options with --help, and starts no server', async () => {
    const run = demo('--records', 'many');
    expect(await run.outcome()).to.deep.equal({
      code: 2,
      stderr: 'Error: --records must be a whole number from 1 to 100000, but is "many".\n',
    });
    expect(await readdir(parent)).to.deep.equal([]);
    const help = demo('--help');
    expect(await help.outcome()).to.deep.equal({ code: 0, stderr: '' });
    for (const option of ['--keep', '--records', '--seed', '--json']) expect(help.stdout).to.include(option);
  });
});

/** Signs in to the demo's console, and expects a lead whose scores and fields changed over time. */
async function expectMovingLead(link: string): Promise<void> {
  const { origin, hash } = new URL(link);
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };
  const body = JSON.stringify({ link: hash.slice(1) });
  const signIn = await fetch(`${origin}/admin/v1/session`, { method: 'POST', headers, body });
  const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const read = async <S>(path: string): Promise<ShapeOf<S>> =>
    JSON.parse(await (await fetch(`${origin}/admin/v1${path}`, { headers: { cookie } })).text());
  const { organisation_id: org } = await read<typeof sessionOutput>('/session');
  const nowMs = Date.now();
  const leads = generateLeads({ seed: 2026, count: 60, now: new Date(nowMs) });
  const changes = [...pastStates(leads, pastSpan(nowMs))].map(([lead, states]) => {
    return { crmId: String(lead.record.crm_id), lastMs: states.at(-1)?.fromMs ?? 0 };
  });
  const [latest] = changes.sort((one, other) => other.lastMs - one.lastMs);
  expect(latest).to.be.an('object');
  const { crmId = '', lastMs = 0 } = latest ?? {};
  const scores: ShapeOf<typeof leadSchema>['scores'][number][] = [];
  let before: string | undefined = callIdFloor(lastMs + 2 * dayMs, org ?? '');
  for (let page = 0; page < 10 && before !== undefined; page += 1) {
    const path: string = `/orgs/${org}/leads/${crmId}?before=${before}`;
    const reply: ShapeOf<typeof leadSchema> = await read<typeof leadSchema>(path);
    scores.push(...reply.scores);
    before = reply.next;
  }
  const fields = scores.flatMap(({ changed }) => changed?.map(({ field }) => field) ?? []);
  expect(fields).to.include('Last Activity Date').and.to.include('Website Visits (30d)');
  expect(new Set(scores.map(({ score }) => score)).size).to.be.above(1);
}

/** One demo as a process. Its process group also holds its gateway and workers. */
class DemoRun {
  readonly ended: Promise<number | null>;
  stdout = '';
  stderr = '';
  private readonly child: ChildProcess;
  private servers: readonly number[] = [];
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly directory: string,
    words: readonly string[],
  ) {
    this.child = spawn(process.execPath, [mainFile, '--directory', directory, ...words], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Any port: another process may use the default one.
      env: childEnvironment({ PORT: '0', FORCE_COLOR: undefined, REDIS_URL: 'redis://127.0.0.1:1' }),
    });
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error('the demo has no output');
    stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk;
      for (const check of this.waiting) check();
    });
    const problems = text(stderr);
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code) => {
        problems.then((output) => {
          this.stderr = output;
          resolve(code);
        }, reject);
      });
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the demo was not started');
    return this.child.pid;
  }

  /** Resolves when the demo has printed a text. Rejects when the demo ends first. */
  async shows(part: string): Promise<void> {
    const shown = new Promise<'shown'>((resolve) => {
      const check = () => {
        if (this.stdout.includes(part)) resolve('shown');
      };
      this.waiting.add(check);
      check();
    });
    const first = await Promise.race([shown, this.ended]);
    if (first !== 'shown') throw new Error(`the demo ended (${first}) before "${part}": ${this.stderr}`);
  }

  async outcome(): Promise<{ code: number | null; stderr: string }> {
    const code = await this.ended;
    return { code, stderr: this.stderr };
  }

  /** Stores the process ids of the demo's servers for `leftRunning`. */
  async noteServers(): Promise<void> {
    this.servers = (await readServerRecord(this.directory))?.serverPids ?? [];
    expect(this.servers).to.have.length(2);
  }

  /** Signals the whole process group, as a terminal does. */
  interrupt(): void {
    process.kill(-this.pid, 'SIGINT');
  }

  /** Names the members of the group and the noted servers that still run. */
  async leftRunning(): Promise<string[]> {
    const left = groupExists(this.pid) ? ['gateway or workers'] : [];
    for (const pid of this.servers) {
      if (await isRunningOn({ pid, directory: this.directory })) left.push(`server ${pid}`);
    }
    return left;
  }

  async stopped(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM');
    await this.ended;
  }
}

function groupExists(groupId: number): boolean {
  try {
    process.kill(-groupId, 0);
    return true;
  } catch {
    return false;
  }
}

const controlCharacters = (shown: string): string[] => shown.match(/\p{Cc}/gu)?.filter((each) => each !== '\n') ?? [];

/** Lines without a break point: the key in the curl line, and a sentence inside the JSON of the answer. */
const mayBeLong = (line: string): boolean => line.includes('Authorization: Bearer') || line.includes('"summary":');
