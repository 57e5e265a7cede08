import { type ChildProcess, fork } from 'node:child_process';
import { projectFile } from '../../shared/project-root.js';
import type { Answer, LoadPlan, LoadReport, Preparation, Request } from './load-messages.js';

/** The load generator or the floor, in a process of its own. */
export class MeasuringProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly name: string,
  ) {}

  /** Starts the process; resolves when it can measure. */
  static async start(
    name: 'load-generator' | 'floor-process',
    preparation: Preparation,
  ): Promise<MeasuringProcess> {
    const child = fork(projectFile(`dist/scripts/bench/${name}.js`), {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: ['--enable-source-maps'],
      serialization: 'advanced',
    });
    const started = new MeasuringProcess(child, name);
    await started.ask({ kind: 'prepare', preparation });
    return started;
  }

  /** Has every known lead scored once. */
  async introduce(): Promise<void> {
    await this.ask({ kind: 'introduce' });
  }

  /** Runs one window; rejects with what went wrong in it. */
  async run(plan: LoadPlan): Promise<LoadReport> {
    const answer = await this.ask({ kind: 'run', plan });
    if (answer.kind !== 'measured') throw new Error(`the ${this.name} answered a plan with "${answer.kind}"`);
    return answer.report;
  }

  /** Ends the process. */
  stop(): void {
    this.child.kill('SIGTERM');
  }

  private async ask(request: Request): Promise<Answer> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null) =>
        reject(new Error(`the ${this.name} ended: ${signal ?? `exit code ${code}`}`));
      this.child.once('exit', onExit);
      this.child.once('message', (message) => {
        this.child.off('exit', onExit);
        resolve(message as Answer);
      });
      this.child.send(request);
    });
    if (answer.kind === 'failed') throw new Error(answer.message);
    return answer;
  }
}
