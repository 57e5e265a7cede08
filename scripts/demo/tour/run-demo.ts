import { messageOf } from '../../../shared/errors.js';
import { readableCount, readableDuration } from '../../terminal/readable-numbers.js';
import { DemoDirectory, shortPath } from './demo-directory.js';
import { type DemoOptions, demoHelp, readDemoOptions } from './demo-options.js';
import { DemoProblem } from './demo-problem.js';
import { DemoStage, type RunningService } from './demo-stage.js';
import { nowhere, Screen, type ScreenStream } from './screen.js';
import { showNextSteps, showWhatIsUp } from './show-end.js';
import { tour } from './tour.js';
import { tourDocument } from './tour-document.js';

export interface DemoProcess {
  readonly stdout: ScreenStream;
  readonly stderr: ScreenStream;
  /** Aborted when the demo is to stop. */
  readonly signal: AbortSignal;
}

const interruptedCode = 130;

/**
 * Runs the demo, and stops everything that it has started, whatever comes.
 * @param words the arguments, without node and the script
 * @returns the exit code: 0 done, 1 failed, 2 called wrongly, 130 interrupted. Never throws
 */
export async function runDemo(words: readonly string[], demo: DemoProcess): Promise<number> {
  const startMs = performance.now();
  try {
    const options = readDemoOptions(words);
    if (options.help) {
      demo.stdout.write(`${demoHelp}\n`);
      return 0;
    }
    return await onAStage(options, { ...demo, startMs });
  } catch (error) {
    return reportFailure(error, demo, words.includes('--json'));
  }
}

async function onAStage(
  options: DemoOptions,
  { stdout, signal, startMs }: DemoProcess & { readonly startMs: number },
): Promise<number> {
  const screen = new Screen(options.json ? nowhere() : stdout, signal);
  const sayStopping = () => screen.print('\nStopping …'); // after the ^C that a terminal shows
  signal.addEventListener('abort', sayStopping, { once: true });

  const directory = new DemoDirectory(options.directory);
  const stage = new DemoStage(directory);
  await directory.prepare();
  let isDone = false;
  try {
    screen.heading(
      `Leadscore demo: ${readableCount(options.records)} leads, scored over HTTP on this machine`,
    );
    const result = await tour({ options, directory, stage, screen, signal });
    const tookMs = performance.now() - startMs;
    if (options.json)
      stdout.write(`${JSON.stringify(tourDocument(result, { options, directory, tookMs }))}\n`);
    if (options.keep) {
      showWhatIsUp(screen, { result, directory });
      screen.print(`\n${screen.styled('bold', 'Ctrl-C stops it.')}`);
      await stayUp(result.service, signal);
    } else {
      showNextSteps(screen);
    }
    isDone = true;
    return 0;
  } finally {
    await stage.stop();
    const where = shortPath(directory.path);
    if (isDone && options.keep) {
      screen.print(`Stopped. Data, logs and files stay in ${where} until the next demo.`);
    } else if (isDone || signal.aborted) {
      await directory.remove();
      const took = readableDuration(performance.now() - startMs);
      screen.print(`${isDone ? '\n' : ''}Everything is stopped and removed again, after ${took}.`);
    } else {
      screen.print(`\nStopped. Logs and data stay in ${where} to look at.`);
    }
  }
}

/** @throws DemoProblem when a part of the service ends before the reader ends it */
async function stayUp({ ended }: RunningService, signal: AbortSignal): Promise<void> {
  const interrupted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const problem = await Promise.race([ended, interrupted]);
  if (problem !== undefined && !signal.aborted) throw problem;
}

function reportFailure(error: unknown, { stderr, signal }: DemoProcess, json: boolean): number {
  if (signal.aborted) return interruptedCode;
  const exitCode = error instanceof DemoProblem ? error.exitCode : 1;
  const message = messageOf(error);
  const document = { error: { code: exitCode === 2 ? 'usage' : 'failed', message } };
  stderr.write(`${json ? JSON.stringify(document) : `Error: ${message}`}\n`);
  return exitCode;
}
