import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { childEnvironment } from '../../../shared/config/config.js';

/** How a command ended. */
export interface CommandEnd {
  /** The exit code, or the signal. */
  readonly how: number | NodeJS.Signals | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
}

const stopLimitMs = 60_000;

/** A command that goes on until it is stopped, such as `npm start`. */
export class StartedCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<CommandEnd>;
  /** All that it has printed so far. */
  output = '';

  /**
   * @param words the program and its arguments
   * @param options.environment changes to this process's environment
   */
  constructor(
    private readonly words: readonly [string, ...string[]],
    options: { readonly directory: string; readonly environment: Readonly<Record<string, string | undefined>> },
  ) {
    const [program, ...args] = words;
    this.process = spawn(program, args, {
      cwd: options.directory,
      env: childEnvironment(options.environment),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // so that `stop` reaches what it has started, also when it ignores a signal
    });
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.setEncoding('utf8').on('data', (piece: string) => {
        this.output += piece;
        this.process.emit('printed');
      });
    this.ended = once(this.process, 'close').then(([exitCode, signal]) => ({
      how: exitCode ?? signal,
      output: this.output,
    }));
    this.ended.catch(() => undefined); // `prints` and `stop` report it
  }

  /**
   * Waits until it has printed a match of a pattern.
   * @throws Error with its output when it ends first, or prints none in time
   */
  async prints(pattern: RegExp, limitMs = 60_000): Promise<RegExpExecArray> {
    const limit = AbortSignal.timeout(limitMs);
    const failure = (why: string, cause?: unknown) =>
      new Error(`${this.words.join(' ')} ${why} before it printed ${pattern}:\n${this.output}`, { cause });
    const ended = this.ended.then(({ how }) => {
      throw failure(`ended (${how})`);
    });
    ended.catch(() => undefined); // it may end after the match
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      const printed = once(this.process, 'printed', { signal: limit }).catch((cause: unknown) => {
        throw failure(`was silent for ${limitMs} ms`, cause);
      });
      await Promise.race([printed, ended]);
    }
  }

  /** SIGINT to all its processes, as Ctrl-C in a terminal. */
  interrupt(): void {
    if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGINT');
  }

  /** SIGTERM to the command alone, as a service manager does; SIGKILL to all its processes after a minute. */
  async stop(): Promise<CommandEnd> {
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => {
      if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGKILL');
    }, stopLimitMs);
    return this.ended.finally(() => clearTimeout(timer));
  }
}
