import { mkdir, readFile, rm, rmdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { projectFile } from '../../../shared/project-root.js';
import { endServer, isAlive, isRunningOn } from '../../local-servers/process-command.js';
import { readServerRecord } from '../../local-servers/server-record.js';
import { DemoProblem } from './demo-problem.js';

/** Everything that the demo, or a reader who follows it, puts into its directory; nothing else is ever removed there. */
const files = {
  leads: 'leads.csv',
  scored: 'leads.scored.jsonl',
  changes: 'changes.csv',
  rescored: 'changes.scored.jsonl',
  scoredByHand: 'leads.scored.csv',
  gatewayLog: 'gateway.log',
  workersLog: 'workers.log',
} as const;
const serverEntries = ['mongo', 'redis', 'servers.json'];
/** How far the scoring of a file has come: beside its output. */
const resumeEntries = [files.scored, files.rescored, files.scoredByHand].map(
  (output) => `${output}.resume.json`,
);

export type DemoFile = keyof typeof files;

/** The demo's directory: its own servers' data, logs, and the files that it writes. */
export class DemoDirectory {
  constructor(readonly path: string) {}

  /** The absolute path of one of the files. */
  file(name: DemoFile): string {
    return join(this.path, files[name]);
  }

  /** The path of a file as a reader would type it: from the project's root when it is inside. */
  shown(name: DemoFile): string {
    return shortPath(this.file(name));
  }

  /**
   * Makes the directory, without what an earlier demo left in it.
   * @throws DemoProblem when a demo runs on it at this moment
   */
  async prepare(): Promise<void> {
    await this.endLeftServers();
    await this.remove();
    await mkdir(this.path, { recursive: true, mode: 0o700 });
  }

  /** Removes what a demo puts there, and the directory when nothing else is in it. */
  async remove(): Promise<void> {
    const entries = [...Object.values(files), ...serverEntries, ...resumeEntries];
    await Promise.all(
      entries.map((entry) => rm(join(this.path, entry), { recursive: true, force: true, maxRetries: 3 })),
    );
    await rmdir(this.path).catch(() => undefined); // something of somebody else's is in it, or it was never made
  }

  /** The last lines of a log, for a person: time and level are left out, long lines are cut. */
  async endOfLog(name: 'gatewayLog' | 'workersLog', lines = 8): Promise<string> {
    const text = await readFile(this.file(name), 'utf8').catch(() => '');
    const last = text.trimEnd().split('\n').slice(-lines).map(readableLogLine);
    return last.map((line) => `  ${line}`).join('\n');
  }

  private async endLeftServers(): Promise<void> {
    const directory = this.path;
    const record = await readServerRecord(directory);
    if (record === undefined) return;
    const running = await Promise.all(record.serverPids.map((pid) => isRunningOn({ pid, directory })));
    if (running.some(Boolean) && isAlive(record.ownerPid)) {
      throw new DemoProblem(
        `A demo is up already (process ${record.ownerPid}), with its data in ${shortPath(directory)}.\n` +
          'Stop it first with Ctrl-C where it runs, or add --directory DIR to run another one beside it.',
      );
    }
    await Promise.all(record.serverPids.map((pid) => endServer({ pid, directory })));
  }
}

/** A path from the project's root when it is inside, else as it is. */
export function shortPath(path: string): string {
  const fromRoot = relative(projectFile('.'), path);
  return fromRoot.startsWith('..') ? path : fromRoot;
}

/** A line of a log in JSON as a sentence; any other as it is. */
function readableLogLine(line: string): string {
  return (sentenceOf(line) ?? line).slice(0, 200);
}

function sentenceOf(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null || !('msg' in entry)) return undefined;
    const level = 'level' in entry ? `${String(entry.level)}: ` : '';
    const error = 'error' in entry ? entry.error : undefined;
    const cause =
      typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined;
    const message = String(entry.msg);
    return cause === undefined || message.includes(String(cause))
      ? `${level}${message}`
      : `${level}${message} (${String(cause)})`;
  } catch {
    return undefined;
  }
}
