import { readFile } from 'node:fs/promises';

/** Something of a profile and its share of the time that the process was busy, 0 to 1. */
export interface ProfileShare {
  readonly name: string;
  /** File and line from `node_modules/` or the project's root on; of Node's and V8's own the code that came to it. */
  readonly place: string;
  readonly share: number;
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly children?: readonly number[];
}

/** The form of a `.cpuprofile` (Chrome DevTools protocol, Profiler.Profile). */
interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

const notBusy = new Set(['(idle)', '(program)', '(root)']);
/** What the profiler costs by itself: starting, stopping, collecting. */
const profilerItself = 'scripts/bench/profile-preload.js';
const outsidePackages = 'event loop';

/**
 * Sums up a profile by own time.
 * @param path a `.cpuprofile`
 * @returns functions, the hottest first; and packages (`node_modules/x`, or a room of the service), to which the time of
 * Node's and V8's own functions is counted when they were called from there
 */
export async function summariseProfile(
  path: string,
): Promise<{ readonly functions: ProfileShare[]; readonly packages: ProfileShare[] }> {
  const profile = JSON.parse(await readFile(path, 'utf8')) as CpuProfile;
  const places = placesOf(profile);
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  for (const [index, sample] of profile.samples.entries()) {
    const place = places.get(sample);
    if (place === undefined || notBusy.has(place.name)) continue;
    if (place.code?.startsWith(profilerItself)) continue;
    const microseconds = profile.timeDeltas[index] ?? 0;
    add(functions, `${place.name}\t${place.shown}`, microseconds);
    add(packages, `${packageOf(place.code)}\t`, microseconds);
  }
  return { functions: shares(functions), packages: shares(packages) };
}

interface Place {
  readonly name: string;
  /** The nearest code of a package or of the service that it was called from: its own, if it is such. */
  readonly code: string | undefined;
  readonly shown: string;
}

function placesOf({ nodes }: CpuProfile): Map<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const visit = (node: ProfileNode, caller: string | undefined): void => {
    const own = ownPlace(node.callFrame);
    const code = own ?? caller;
    const shown = own ?? (code === undefined ? '' : `from ${code}`);
    places.set(node.id, { name: node.callFrame.functionName || '(anonymous)', code, shown });
    for (const id of node.children ?? []) {
      const child = byId.get(id);
      if (child !== undefined) visit(child, code);
    }
  };
  const [root] = nodes;
  if (root !== undefined) visit(root, undefined);
  return places;
}

/** Undefined for Node's and V8's own. */
function ownPlace({ url, lineNumber }: CallFrame): string | undefined {
  const path = /\/(node_modules\/.*)$/.exec(url)?.[1] ?? /\/dist\/(.*)$/.exec(url)?.[1];
  return path === undefined ? undefined : `${path}:${lineNumber + 1}`;
}

function packageOf(code: string | undefined): string {
  if (code === undefined) return outsidePackages;
  return /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(code)?.[0] ?? code.split('/')[0] ?? code;
}

function add(sums: Map<string, number>, key: string, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

function shares(sums: ReadonlyMap<string, number>): ProfileShare[] {
  const total = [...sums.values()].reduce((sum, value) => sum + value, 0);
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .map(([key, microseconds]) => {
      const [name = '', place = ''] = key.split('\t');
      return { name, place, share: microseconds / total };
    });
}
