import { type ChildProcess, fork } from 'node:child_process';
import { projectFile } from '../../../shared/process/project-root.js';
import type { Answer, LoadPlan, LoadReport, Preparation, Request } from './messages.js';

/** Parent's side of `measuring-child.ts`. */
export class MeasuringProcess {
  private constructor(private readonly child: ChildProcess) {}

  /** Resolves when every known lead has been scored once. */
  static async start(preparation: Preparation): Promise<MeasuringProcess> {
    const child = fork(projectFile('dist/scripts/bench/load/measuring-child.js'), {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: ['--enable-source-maps'],
      serialization: 'advanced',
    });
    const started = new MeasuringProcess(child);
    await started.ask(preparation);
    return started;
  }

  /** @throws Error if a reply was wrong or the process ended */
  async run(plan: LoadPlan): Promise<LoadReport> {
    const report = await this.ask(plan);
    if (report === undefined) throw new Error('a measuring process sent no report');
    return report;
  }

  stop(): void {
    this.child.kill('SIGTERM');
  }

  private async ask(request: Request): Promise<LoadReport | undefined> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null) =>
        reject(new Error(`a measuring process ended: ${signal ?? `exit code ${code}`}`));
      this.child.once('exit', onExit);
      this.child.once('message', (message) => {
        this.child.off('exit', onExit);
        resolve(message as Answer);
      });
      this.child.send(request);
    });
    if ('failure' in answer) throw new Error(answer.failure);
    return answer.report;
  }
}
