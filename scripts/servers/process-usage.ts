import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Process ids by part of the service: `gateway`, `workers`, `redis`, `mongod`. */
export type ProcessGroups = Readonly<Record<string, readonly number[]>>;

/** Resources that a group of processes has used since its start. */
export interface GroupUsage {
  /** User and system time of the group's processes and of their ended children, ms. */
  readonly cpuMs: number;
  /** Resident memory now, MB of 1,000,000 bytes. */
  readonly rssMb: number;
}

interface ProcessReading {
  readonly cpuMs: number;
  readonly rssBytes: number;
}

const onLinux = process.platform === 'linux';

const settings = new Map<string, number>();

/**
 * Reads /proc on Linux (in clock ticks, mostly of 10 ms) and ps elsewhere.
 * @throws Error if a process has ended
 */
export function readUsage<Groups extends ProcessGroups>(groups: Groups): Record<keyof Groups, GroupUsage> {
  const readings = onLinux ? undefined : readWithPs(Object.values(groups).flat());
  const used = Object.entries(groups).map(([name, pids]) => {
    const each = pids.map((pid) => (readings === undefined ? readProc(pid) : reading(readings, pid)));
    const cpuMs = each.reduce((sum, one) => sum + one.cpuMs, 0);
    const rssMb = each.reduce((sum, one) => sum + one.rssBytes, 0) / 1e6;
    return [name, { cpuMs, rssMb }];
  });
  return Object.fromEntries(used) as Record<keyof Groups, GroupUsage>;
}

/**
 * Busy time of all cores since the start of the machine, ms. Time that the hypervisor gave to other machines counts: it
 * is work of others.
 */
export function machineBusyMs(): number {
  return stolenMs() + cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

/** proc_stat(5): the eighth number of the first line is `steal`, in clock ticks. Node does not report it. */
function stolenMs(): number {
  if (!onLinux) return 0;
  const ticks = Number(/^cpu +(?:\d+ ){7}(\d+)/.exec(readFileSync('/proc/stat', 'latin1'))?.[1] ?? 0);
  return (ticks * 1_000) / setting('CLK_TCK');
}

/** Process ids of the living children of a process. */
export const childProcessIds = (parent: number): number[] => childrenByParent().get(parent) ?? [];

/** Process ids of the living children of a process, of their children and so on. */
export function descendantIds(ancestor: number): number[] {
  const children = childrenByParent();
  const found: number[] = [];
  const waiting = [ancestor];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    const own = children.get(pid) ?? [];
    found.push(...own);
    waiting.push(...own);
  }
  return found;
}

function childrenByParent(): Map<number, number[]> {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const children = new Map<number, number[]>();
  for (const line of lines) {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return children;
}

/** proc(5): utime, stime, cutime, cstime are fields 14 to 17, rss is field 24. The process name may contain spaces. */
function readProc(pid: number): ProcessReading {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch (cause) {
    throw ended(pid, cause);
  }
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
  return {
    cpuMs: (1000 * ticks) / setting('CLK_TCK'),
    rssBytes: (fields[21] ?? 0) * setting('PAGESIZE'),
  };
}

/** Value of getconf(1), read once. */
function setting(name: string): number {
  let value = settings.get(name);
  if (value === undefined) {
    value = Number(execFileSync('getconf', [name], { encoding: 'utf8' }));
    settings.set(name, value);
  }
  return value;
}

function readWithPs(pids: readonly number[]): Map<number, ProcessReading> {
  const text = execFileSync('ps', ['-o', 'pid=,rss=,cputime=', '-p', pids.join(',')], { encoding: 'utf8' });
  return new Map(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [pid = '', rss = '', time = ''] = line.trim().split(/\s+/);
        return [Number(pid), { cpuMs: durationMs(time), rssBytes: Number(rss) * 1024 }];
      }),
  );
}

/** `[[dd-]hh:]mm:ss[.ss]` as ms. */
function durationMs(text: string): number {
  const [days, clock] = text.includes('-') ? text.split('-') : ['0', text];
  const seconds = (clock ?? '').split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
  return (Number(days) * 86_400 + seconds) * 1000;
}

function reading(readings: ReadonlyMap<number, ProcessReading>, pid: number): ProcessReading {
  const found = readings.get(pid);
  if (found === undefined) throw ended(pid, undefined);
  return found;
}

const ended = (pid: number, cause: unknown): Error =>
  new Error(`process ${pid} of the service ended while it was measured`, { cause });
