import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import type { ForkedFunction } from '../../load/forked-function.js';
import { unreachedLimit } from '../../load/load-organisation.js';
import { type ProcessGroups, readUsage } from '../../servers/process-usage.js';
import { type OnEnd, stoppedAtEnd } from '../../servers/run-to-end.js';
import { notInherited } from '../../servers/service-process.js';
import { measureJob } from '../bulk/bulk.js';
import { BulkCaller } from '../bulk/bulk-job.js';
import type { LoadPlan, LoadReport, Preparation } from '../load/messages.js';
import {
  addressOf,
  processesOf,
  startBenchServers,
  startBenchStack,
  startGenerator,
} from '../service/bench-service.js';
import { measureIdle } from '../service/idle.js';
import type { Sample } from './pair-figures.js';
import { type PairRow, scenarioOf } from './pair-options.js';

const pepper = 'pepper-of-the-benchmark';
const apiKeys = 4;
const maxRatePerSecond = 10_000;
/** Most work of an idle service is done every five seconds or more often. */
const idleWindowMs = 20_000;

/** The file of a job. */
interface JobFile {
  readonly path: string;
  readonly rows: number;
}

interface Times {
  readonly warmUpMs: number;
  readonly windowMs: number;
}

/**
 * The whole service of one commit, with a Redis and a mongod of its own. This program uses only its command line and
 * its HTTP API, and reads the CPU time of its processes. So the commit may be older than this program.
 */
export class PairedService {
  private readonly jobs: BulkCaller;

  private constructor(
    private readonly preparation: Preparation,
    private readonly groups: () => ProcessGroups,
    private readonly generator: ForkedFunction<LoadPlan, LoadReport> | undefined,
    /** Rejects when a part of the service ends. */
    private readonly failure: Promise<never>,
  ) {
    this.jobs = new BulkCaller(preparation.gateway, preparation.source.modelId);
  }

  /**
   * @param root folder of the built commit
   * @param options.rows those that will be measured
   */
  static async start(
    root: string,
    { rows, nowMs }: { readonly rows: readonly PairRow[]; readonly nowMs: number },
    onEnd: OnEnd,
  ): Promise<PairedService> {
    const servers = await startBenchServers(onEnd);
    const environment = { ...notInherited, REDIS_URL: servers.redis.url, MONGODB_URL: servers.mongod.url };
    const bundlePath = projectFile('scripts/demo/bundle');
    const { modelId, secrets } = await createOrganisation(bundlePath, (...args) => cli(root, args, environment));
    const withConsole = rows.includes('idle');
    const withRunner = withConsole || rows.includes('job');
    const stack = await startBenchStack(servers, { root, withRunner, withConsole, pepper }, onEnd);
    const failure = stack.ended.then((how) => Promise.reject(new Error(how)));
    failure.catch(() => undefined);
    const preparation: Preparation = {
      gateway: { ...addressOf(stack.url), secrets },
      source: { modelId, bundlePath, isDemoBundle: true, nowMs },
    };
    const makesCalls = rows.some((row) => row !== 'job' && row !== 'idle');
    const generator = makesCalls ? await stoppedAtEnd(onEnd, startGenerator(preparation)) : undefined;
    return new PairedService(preparation, () => processesOf(stack, servers), generator, failure);
  }

  /**
   * Measures one window of calls, or one job.
   * @throws Error if a reply or a result is wrong, or a part of the service ended
   */
  measure(row: PairRow, times: Times, file: JobFile): Promise<Sample> {
    return Promise.race([this.sample(row, times, file), this.failure]);
  }

  private sample(row: PairRow, times: Times, file: JobFile): Promise<Sample> {
    if (row === 'job') return this.job(file);
    return row === 'idle' ? measureIdle(this.groups(), idleWindowMs) : this.window(row, times);
  }

  private async window(row: Exclude<PairRow, 'job' | 'idle'>, times: Times): Promise<Sample> {
    const { generator, preparation } = this;
    if (generator === undefined) throw new Error('the load of calls was not started');
    const { shape, leads, load } = scenarioOf[row];
    const target = { gateway: preparation.gateway, groups: this.groups() };
    const { figures, records, cpuMs } = await generator.call({ shape, leads, load, ...times, target });
    const { records_per_s, p50_ms, p99_ms, rss_mb } = figures;
    const perThousand = Object.entries(cpuMs).map(([name, ms]) => [name, (1_000 * ms) / records]);
    const all = figures.cpu_ms_per_1000.total;
    return { all, ...Object.fromEntries(perThousand), records_per_s, p50_ms, p99_ms, rss_mb: rss_mb.total };
  }

  private async job(file: JobFile): Promise<Sample> {
    const groups = this.groups();
    const { cpu_ms_per_1000, rows_per_s } = await measureJob(groups, this.jobs, file);
    const { total: all = 0, ...parts } = cpu_ms_per_1000;
    const rss = Object.values(readUsage(this.groups())).reduce((sum, { rssMb }) => sum + rssMb, 0);
    return { all, ...parts, records_per_s: rows_per_s, rss_mb: rss };
  }
}

type Cli = (...args: readonly string[]) => Promise<Readonly<Record<string, string>>>;

/** Creates an organisation that reaches no quota or rate. */
async function createOrganisation(bundlePath: string, call: Cli) {
  const organisation = await call(
    'org',
    'create',
    '--name',
    'Benchmark',
    '--plan',
    'enterprise',
    '--limit',
    `${unreachedLimit}`,
  );
  const id = organisation.org_id ?? '';
  const model = await call('model', 'import', bundlePath, '--org', id);
  const secrets: string[] = [];
  for (let key = 0; key < apiKeys; key += 1)
    secrets.push((await call('key', 'create', id, '--rate', `${maxRatePerSecond}`)).secret ?? '');
  return { modelId: model.model_id ?? '', secrets };
}

/** Runs a command of a commit's command line. @returns its JSON document */
async function cli(
  root: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Readonly<Record<string, string>>> {
  const program = join(root, 'dist/scripts/cli/main.js');
  const env = childEnvironment({ ...environment, KEY_PEPPER: pepper });
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args, '--json'], { cwd: root, env });
  return JSON.parse(stdout) as Readonly<Record<string, string>>;
}
