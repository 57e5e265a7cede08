import { type ChildProcess, fork } from 'node:child_process';
import { childEnvironment } from '../../shared/config/config.js';
import { projectFile } from '../../shared/process/project-root.js';
import type { Took } from './file-times.js';
import type { TestGroup } from './test-groups.js';

/** The parts that all groups of a run share. */
export interface TestRun {
  readonly tier: 'first' | 'full';
  /** Folder in which Node keeps compiled code: hundreds of processes of a run load the same modules. */
  readonly compileCache: string;
}

/** Messages of a Mocha process to the runner. */
export type GroupEvent =
  | { readonly kind: 'passed' | 'skipped'; readonly file: string }
  | { readonly kind: 'failed'; readonly file: string; readonly title: string; readonly error: string }
  | { readonly kind: 'file'; readonly file: string; readonly took: Took }
  /** The last message: Mocha has printed its report. */
  | { readonly kind: 'reported' };

/** Counts of one test file. */
export interface FileResult {
  passed: number;
  failed: number;
  skipped: number;
  /** Title and first line of the first failure. */
  firstError?: string;
}

/** One Mocha process, and what it has reported so far. */
export class GroupProcess {
  readonly name: string;
  /** By file; an empty name for failures outside of files. */
  readonly results = new Map<string, FileResult>();
  /** All that the process printed. */
  output = '';
  /** Mocha's numbered list of failures. */
  failures = '';
  /** By finished file. */
  readonly times = new Map<string, Took>();
  isRunning = true;
  /** Resolves when the process has ended and its output is complete. */
  readonly ended: Promise<void>;
  private isReported = false;
  private readonly child: ChildProcess;

  /**
   * @param onFailure called with the title of each test that fails
   */
  constructor(group: TestGroup, { tier, compileCache }: TestRun, onFailure: (title: string) => void) {
    this.name = group.name;
    this.child = fork(projectFile('dist/scripts/test/group/main.js'), [tier, ...group.files], {
      cwd: projectFile('.'),
      // The kernel would leave processes of low priority next to no CPU beside the other groups.
      env: childEnvironment({ LOWER_PRIORITY: 'no', NODE_COMPILE_CACHE: compileCache }),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      execArgv: ['--enable-source-maps'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    this.child.on('message', (event) => this.note(event as GroupEvent, onFailure));
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.isRunning = false;
        if (this.isReported) this.failures = failuresIn(this.output);
        else this.noteCrash(signal ?? `exit code ${code}`);
        resolve();
      });
    });
  }

  get passed(): number {
    return this.sum('passed');
  }

  get failed(): number {
    return this.sum('failed');
  }

  get skipped(): number {
    return this.sum('skipped');
  }

  private sum(count: 'passed' | 'failed' | 'skipped'): number {
    return [...this.results.values()].reduce((total, result) => total + result[count], 0);
  }

  private note(event: GroupEvent, onFailure: (title: string) => void): void {
    if (event.kind === 'passed' || event.kind === 'skipped') this.resultOf(event.file)[event.kind] += 1;
    else if (event.kind === 'failed') {
      const result = this.resultOf(event.file);
      result.failed += 1;
      result.firstError ??= `${event.title}: ${event.error}`;
      onFailure(`failed in ${this.name}: ${event.title}`);
    } else if (event.kind === 'file') {
      const { ms, cpuMs } = this.times.get(event.file) ?? { ms: 0, cpuMs: 0 };
      this.times.set(event.file, { ms: ms + event.took.ms, cpuMs: cpuMs + event.took.cpuMs });
    } else if (event.kind === 'reported') this.isReported = true;
  }

  private resultOf(file: string): FileResult {
    const known = this.results.get(file) ?? { passed: 0, failed: 0, skipped: 0 };
    this.results.set(file, known);
    return known;
  }

  /** Mocha ended before its report: one more failure, and the end of the output tells why. */
  private noteCrash(how: string): void {
    this.resultOf('').failed += 1;
    const lines = this.output.trimEnd().split('\n').slice(-20).join('\n');
    this.failures = `  The process of the ${this.name} tests ended before its report (${how}):\n${lines}\n`;
  }
}

/** Mocha's report ends with its numbered list of failures. */
function failuresIn(output: string): string {
  const heading = [...output.matchAll(/^ +\d+ failing$/gm)].at(-1);
  return heading === undefined ? '' : output.slice(heading.index + heading[0].length).replace(/^\n+/, '');
}
