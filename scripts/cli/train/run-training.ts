import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { CliError, codeOf, exitCodes } from '../context/cli-error.js';
import { installCommand, interrupted } from './python-environment.js';
import { type FinishedTraining, type RankedField, type TrainingMessage, trainingMessage } from './training-messages.js';

/** Receives what a training says. */
export interface TrainingListener {
  progress(of: { readonly text: string; readonly share: number; readonly leftMs: number | undefined }): void;
  note(text: string): void;
  fields(fields: readonly RankedField[]): void;
  /** @throws to end the training */
  ask(question: string): Promise<boolean>;
}

export interface TrainingRun {
  /** The interpreter. */
  readonly python: string;
  /** The options of `python -m leadscore_export.train`. */
  readonly words: readonly string[];
  /** Goes to the pipe 3 of the process, whole lines of JSON. */
  readonly rows?: AsyncIterable<Buffer | string>;
  readonly signal: AbortSignal;
}

/**
 * Trains a model in a Python process. An abort ends the process, which then removes its files.
 * @throws CliError with the code and message of the training, or with exit code 130 after an interruption
 */
export async function runTraining(
  { python, words, rows, signal }: TrainingRun,
  listener: TrainingListener,
): Promise<FinishedTraining> {
  // A process group of its own: a terminal would send Ctrl-C to both, and two signals end Python before it cleans up.
  const child = spawn(python, ['-m', 'leadscore_export.train', ...words, '--json-lines'], {
    ...{ stdio: ['pipe', 'pipe', 'pipe', 'pipe'], detached: true },
    // The package may be in a folder that cannot be written.
    env: childEnvironment({ PYTHONPATH: projectFile('scripts/export'), PYTHONDONTWRITEBYTECODE: '1' }),
  });
  const stop = (): void => {
    child.kill();
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  let errors = '';
  child.stderr?.on('data', (bytes) => {
    errors = `${errors}${bytes}`.slice(-8_000);
  });
  // A process that ends early reads no further.
  child.stdin?.on('error', () => undefined);
  const sent = sendRows(child.stdio[3] as Writable, rows);
  sent.catch(() => undefined);
  const ended = new Promise<Ending>((resolve) => {
    child.once('error', (error) => resolve({ exitCode: null, killedBy: null, problem: error.message }));
    child.once('close', (exitCode, killedBy) => resolve({ exitCode, killedBy, problem: undefined }));
  });
  try {
    let last: TrainingMessage | undefined;
    for await (const line of createInterface({ input: child.stdout as Readable })) {
      const message = trainingMessage(line);
      if (message === undefined) continue;
      last = message;
      if ('ask' in message) child.stdin?.write((await listener.ask(message.ask.question)) ? 'y\n' : 'n\n');
      else listen(message, listener);
    }
    const ending = await ended;
    await sent;
    if (signal.aborted) throw interrupted();
    if (last !== undefined && 'done' in last && ending.exitCode === 0) return last.done;
    throw failureOf(last, { ...ending, errors, python });
  } catch (error) {
    stop();
    await ended;
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface Ending {
  readonly exitCode: number | null;
  readonly killedBy: NodeJS.Signals | null;
  /** The process could not be started. */
  readonly problem: string | undefined;
}

async function sendRows(pipe: Writable, rows: AsyncIterable<Buffer | string> = Readable.from([])): Promise<void> {
  await pipeline(rows, pipe).catch((error: unknown) => {
    // The training has ended, and says why itself.
    if (!['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(codeOf(error))) throw error;
  });
}

function listen(message: Exclude<TrainingMessage, { readonly ask: unknown }>, listener: TrainingListener): void {
  if ('progress' in message) {
    const { text, share, seconds_left: seconds } = message.progress;
    listener.progress({ text, share, leftMs: seconds === null ? undefined : 1_000 * seconds });
  } else if ('note' in message) listener.note(message.note);
  else if ('fields' in message) listener.fields(message.fields);
}

/** The reason why a training has failed. */
function failureOf(
  last: TrainingMessage | undefined,
  { exitCode, killedBy, problem, errors, python }: Ending & { readonly errors: string; readonly python: string },
): CliError {
  if (last !== undefined && 'error' in last) {
    const { code, message, context = {} } = last.error;
    const known = Object.values(exitCodes).find((each) => each === exitCode && each !== exitCodes.done);
    const text = message.charAt(0).toUpperCase() + message.slice(1);
    return new CliError(text, { code, details: context, ...(known === undefined ? {} : { exitCode: known }) });
  }
  const missing = /No module named '([\w.]+)'/.exec(errors)?.[1];
  if (missing !== undefined)
    return new CliError(`${python} has no package ${missing}. Install the packages: ${installCommand(python)}`, {
      code: 'no_packages',
    });
  if (problem !== undefined) return new CliError(`${python} cannot be started: ${problem}`, { code: 'no_python' });
  const how = killedBy === null ? `ended with exit code ${exitCode}` : `was ended by ${killedBy}`;
  const memory = killedBy === 'SIGKILL' ? '. The system may lack memory: train on fewer rows' : '';
  const said = errors.trim().split('\n').slice(-5).join('\n');
  return new CliError(`The training ${how}${memory}${said === '' ? '' : `: ${said}`}`, { code: 'failed' });
}
