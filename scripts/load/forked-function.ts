import { type ChildProcess, fork } from 'node:child_process';
import { messageOf } from '../../shared/contract/errors.js';
import { projectFile } from '../../shared/process/project-root.js';

type Answer<Result> = { readonly result: Result } | { readonly failure: string };

/** An asynchronous function that runs in a process of its own. The process serves one call at a time. */
export class ForkedFunction<Argument, Result> {
  private constructor(private readonly child: ChildProcess) {}

  /**
   * Starts a program that calls `serveCalls`, and waits until it is prepared.
   * @param program path from the project's root
   * @param preparation argument of its `prepare`
   * @throws Error if the preparation failed or the process ended
   */
  static async start<Argument, Result>(
    program: string,
    preparation: unknown,
  ): Promise<ForkedFunction<Argument, Result>> {
    const child = fork(projectFile(program), {
      stdio: ['ignore', 2, 2, 'ipc'],
      execArgv: ['--enable-source-maps'],
      serialization: 'advanced',
    });
    const started = new ForkedFunction<Argument, Result>(child);
    try {
      await started.ask(preparation);
      return started;
    } catch (error) {
      started.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** @throws Error if the function failed or the process ended */
  call(argument: Argument): Promise<Result> {
    return this.ask(argument) as Promise<Result>;
  }

  stop(): void {
    this.child.kill('SIGTERM');
  }

  private async ask(message: unknown): Promise<unknown> {
    const answer = await new Promise<Answer<unknown>>((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null) =>
        reject(new Error(`${this.child.spawnargs[1]} ended: ${signal ?? `exit code ${code}`}`));
      this.child.once('exit', onExit);
      this.child.once('message', (reply) => {
        this.child.off('exit', onExit);
        resolve(reply as Answer<unknown>);
      });
      // Without a callback, the error of a process that has ended would be an event without a listener.
      this.child.send({ message }, (error) => {
        if (error != null) reject(error);
      });
    });
    if ('failure' in answer) throw new Error(answer.failure);
    return answer.result;
  }
}

/** Child's side of `ForkedFunction`. The first message is the preparation, the others are arguments. */
export function serveCalls<Preparation, Argument, Result>(
  prepare: (preparation: Preparation) => Promise<(argument: Argument) => Promise<Result>>,
): void {
  let run: ((argument: Argument) => Promise<Result>) | undefined;
  const answer = async (message: unknown): Promise<Result | undefined> => {
    if (run !== undefined) return await run(message as Argument);
    run = await prepare(message as Preparation);
    return undefined;
  };
  process.on('message', ({ message }: { readonly message: unknown }) => {
    void answer(message)
      .then(
        (result) => ({ result }),
        (error: unknown) => ({ failure: messageOf(error) }),
      )
      .then((reply) => process.send?.(reply));
  });
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C signals the whole process group; the parent stops this process itself.
  process.on('SIGINT', () => undefined);
}
