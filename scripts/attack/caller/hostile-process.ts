import { type ChildProcess, fork } from 'node:child_process';
import { setPriority } from 'node:os';
import { projectFile } from '../../../shared/process/project-root.js';
import type { AttackOrder, AttackReport } from './messages.js';

/** Hostile callers use machines of their own, so their work must not take the processors of the service. */
const lowPriority = 10;

/** Parent's side of the process of the hostile callers. */
export class HostileProcess {
  private constructor(private readonly child: ChildProcess) {}

  static start(): HostileProcess {
    const child = fork(projectFile('dist/scripts/attack/caller/main.js'), {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: ['--enable-source-maps'],
    });
    if (child.pid !== undefined) setPriority(child.pid, lowPriority);
    return new HostileProcess(child);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** @throws Error if the process ended */
  async run(order: AttackOrder): Promise<AttackReport> {
    return await new Promise<AttackReport>((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null) =>
        reject(new Error(`the process of the hostile callers ended: ${signal ?? `exit code ${code}`}`));
      this.child.once('exit', onExit);
      this.child.once('message', (report) => {
        this.child.off('exit', onExit);
        resolve(report as AttackReport);
      });
      this.child.send(order);
    });
  }

  stop(): void {
    this.child.kill('SIGTERM');
  }
}
