import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { childEnvironment } from '../../shared/config.js';
import { projectFile } from '../../shared/project-root.js';
import { pythonVenv } from '../../test/support/python-venv.js';

const installLimitMs = 600_000;

/** What can explain a model in Python: the trainer's own contributions, `shap` as it comes, `shap` with its own code. */
export const pythonMethods = ['pred_contrib', 'shap', 'shap_own'] as const;
export type PythonMethod = (typeof pythonMethods)[number];

/** What is to be measured: so many calls with so many records each. */
export interface PythonCalls {
  readonly model: string;
  readonly method: PythonMethod;
  readonly records: number;
  readonly calls: number;
}

interface Ready {
  readonly models: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
}

type PythonProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Python packages that explain models, in a process of their own that stays: models are trained once, and measured in
 * turns with others.
 */
export class PythonExplainers {
  private constructor(
    private readonly process: PythonProcess,
    private readonly lines: AsyncIterator<string>,
    private readonly ready: Ready,
  ) {}

  /** Names of the models that were trained. */
  get models(): readonly string[] {
    return this.ready.models;
  }

  /** Versions of the packages, by name. */
  get versions(): Readonly<Record<string, string>> {
    return this.ready.versions;
  }

  /**
   * Trains the models, and writes them with rows and contributions (see explain_beside.py).
   * @param folder where to
   * @throws Error when there is no Python for it, or with what it said
   */
  static async start(folder: string): Promise<PythonExplainers> {
    const venv = await pythonVenv({
      name: 'bench',
      requirementsFile: 'scripts/bench/python/requirements.txt',
      leastMinor: 11,
      pipOptions: ['--no-deps', '--no-compile', '--only-binary=:all:'],
      installLimitMs,
    });
    if ('reason' in venv) throw new Error(venv.reason);
    const script = projectFile('scripts/bench/python/explain_beside.py');
    const child = spawn(venv.program('python'), [script, folder], {
      env: childEnvironment({ PYTHONPATH: projectFile('scripts/export'), PYTHONDONTWRITEBYTECODE: '1' }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const lines = linesOf(child);
    const explainers = new PythonExplainers(child, lines, await answer<Ready>(lines));
    return explainers;
  }

  /** CPU-milliseconds of one call. */
  async cpuMsOf(calls: PythonCalls): Promise<number> {
    this.process.stdin.write(`${JSON.stringify(calls)}\n`);
    return (await answer<{ readonly cpu_ms: number }>(this.lines)).cpu_ms;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await ended;
  }
}

/** What a process prints, line by line; its errors when it ends. */
async function* linesOf(child: PythonProcess): AsyncGenerator<string> {
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said = `${said}${data.toString()}`.slice(-4_000);
  });
  const lines: Interface = createInterface({ input: child.stdout });
  yield* lines;
  throw new Error(`Python has ended: ${said.trim()}`);
}

async function answer<Answer>(lines: AsyncIterator<string>): Promise<Answer> {
  const { value } = await lines.next();
  return JSON.parse(value) as Answer;
}
