import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectFile } from '../../../shared/process/project-root.js';
import { renderTable } from '../../cli/output/table.js';
import type { ProcessGroups } from '../../servers/process-usage.js';

/** The form of a `.cpuprofile` (Chrome DevTools protocol, Profiler.Profile). */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

interface Place {
  readonly name: string;
  /** `path:line` of the function, or of its nearest caller outside Node and V8. */
  readonly code: string | undefined;
  readonly shown: string;
}

const functionsShown = 20;
const packagesShown = 10;
const preloadFile = 'scripts/bench/profile/preload.js';
const idle = new Set(['(idle)', '(program)', '(root)']);

/** NODE_OPTIONS that preload `preload.ts`. */
export function profilingOptions(directory: string): string {
  const preload = pathToFileURL(projectFile(`dist/${preloadFile}`));
  preload.searchParams.set('directory', directory);
  return `--import=${preload.href}`;
}

/** Profiles the gateway and the first worker of the pool, one profile per window and process. */
export class Profiling {
  private readonly windows: string[] = [];

  private constructor(
    private readonly directory: string,
    private readonly pids: Readonly<Record<string, number>>,
  ) {}

  static async prepareDirectory(path: string): Promise<string> {
    await mkdir(path, { recursive: true });
    return resolve(path);
  }

  static of(directory: string, { gateway = [], workers = [] }: ProcessGroups): Profiling {
    const [gatewayPid, workerPid] = [gateway[0], workers[1]]; // workers[0] is the pool's parent
    if (gatewayPid === undefined || workerPid === undefined) throw new Error('no gateway or no worker runs');
    return new Profiling(directory, { gateway: gatewayPid, worker: workerPid });
  }

  /** @param id of the scenario; the profiles are named after it */
  async during<Result>(id: string, window: () => Promise<Result>): Promise<Result> {
    this.windows.push(id);
    this.signalAll();
    try {
      return await window();
    } finally {
      this.signalAll();
    }
  }

  /** Renames the profiles and lists the hottest functions of each. Call it when the service has ended. */
  async report(): Promise<string> {
    const written = new Set(await readdir(this.directory));
    const tables: string[] = [];
    for (const [index, window] of this.windows.entries()) {
      for (const [process, pid] of Object.entries(this.pids)) {
        const raw = `${pid}-${index + 1}.cpuprofile`;
        if (!written.has(raw)) continue;
        const path = join(this.directory, `${window}-${process}.cpuprofile`);
        await rename(join(this.directory, raw), path);
        const profile = JSON.parse(await readFile(path, 'utf8')) as CpuProfile;
        tables.push(`\n${profileTable(`${window} ${process}`, profile)}\n${path}\n`);
      }
    }
    return tables.join('');
  }

  private signalAll(): void {
    for (const pid of Object.values(this.pids)) process.kill(pid, 'SIGUSR2');
  }
}

/** The share of own time of functions and packages in the busy time of the process. */
function profileTable(title: string, profile: CpuProfile): string {
  const places = placesOf(profile.nodes);
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  let totalUs = 0;
  for (const [index, sample] of profile.samples.entries()) {
    const place = places.get(sample);
    // The cost of the profiler itself is left out.
    if (place === undefined || idle.has(place.name) || place.code?.startsWith(preloadFile)) continue;
    const elapsedUs = profile.timeDeltas[index] ?? 0;
    const packageName = packageOf(place.code);
    const functionKey = `${place.name}\t${place.shown}`;
    functions.set(functionKey, (functions.get(functionKey) ?? 0) + elapsedUs);
    packages.set(packageName, (packages.get(packageName) ?? 0) + elapsedUs);
    totalUs += elapsedUs;
  }
  const hottest = (times: ReadonlyMap<string, number>, count: number) =>
    [...times]
      .sort(([, a], [, b]) => b - a)
      .slice(0, count)
      .map(([key, timeUs]) => [...key.split('\t'), `${((100 * timeUs) / totalUs).toFixed(1)} %`]);
  const columns = [{ name: title }, { name: 'where' }, { name: 'own time', align: 'right' }] as const;
  const table = renderTable(columns, hottest(functions, functionsShown), { width: 110 });
  const byPackage = hottest(packages, packagesShown).map((cells) => cells.join(' '));
  return `${table}\nBy package: ${byPackage.join(', ')}`;
}

/** Attributes a function of Node or V8 to its nearest caller in a package or in the service. */
function placesOf(nodes: readonly ProfileNode[]): Map<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const visit = (node: ProfileNode, caller: string | undefined): void => {
    const { functionName, url, lineNumber } = node.callFrame;
    const path = (/\/(node_modules\/.*)$/.exec(url) ?? /\/dist\/(.*)$/.exec(url))?.[1];
    const code = path === undefined ? caller : `${path}:${lineNumber + 1}`;
    const shown = path === undefined && code !== undefined ? `from ${code}` : (code ?? '');
    places.set(node.id, { name: functionName || '(anonymous)', code, shown });
    for (const child of node.children?.map((id) => byId.get(id)) ?? []) if (child !== undefined) visit(child, code);
  };
  if (nodes[0] !== undefined) visit(nodes[0], undefined);
  return places;
}

/** `node_modules/<package>`, or the top folder of the service's own code. */
function packageOf(code: string | undefined): string {
  if (code === undefined) return 'event loop';
  return /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(code)?.[0] ?? code.split('/')[0] ?? code;
}
