import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../shared/contract/errors.js';
import { projectFile } from '../../shared/process/project-root.js';
import { countText, readableDuration } from '../cli/output/readable-numbers.js';
import { UsageError } from '../servers/run-to-end.js';
import { DemoService } from './tour/demo-service.js';
import { hiddenStream, Screen } from './tour/screen.js';
import { nextSteps, runningService } from './tour/show.js';
import { tour } from './tour/tour.js';

/*
 * `npm run demo`: starts the whole service with servers of its own, shows it at work, and removes everything again.
 * Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted. The run stops what it started in every case.
 */

const maxRecords = 100_000;
const help = `Usage: npm run demo -- [options]

Starts Leadscore on this machine with servers of its own, scores made-up leads
over HTTP twice, shows the results, and stops and removes everything again.

Options:
  --keep           stay up after the tour until Ctrl-C, and leave the data
  --records N      leads to score, 1 to ${maxRecords} (default: 4000)
  --seed S         another seed, other leads (default: 2026)
  --directory DIR  for data, logs and CSV files (default: .local/demo)
  --json           print one JSON document in place of the text. npm and the
                   set-up print lines of their own: for the document alone use
                   node dist/scripts/demo/main.js --json
  -h, --help       show help

Exit codes: 0 done, 1 failed, 2 called wrongly, 130 interrupted.
`;

const { stdout, stderr } = process;
const words = process.argv.slice(2);
const controller = new AbortController();
const { signal } = controller;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort());
// A closed pipe (`| head`) ends the demo as Ctrl-C does.
for (const stream of [stdout, stderr]) stream.on('error', () => controller.abort());
try {
  if (words.includes('--help') || words.includes('-h')) stdout.write(help);
  else await runDemo(readOptions());
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.exitCode = signal.aborted ? 130 : isUsage ? 2 : 1;
  const document = { error: { code: isUsage ? 'usage' : 'failed', message: messageOf(error) } };
  const shown = words.includes('--json') ? JSON.stringify(document) : `Error: ${messageOf(error)}`;
  if (!signal.aborted) stderr.write(`${shown}\n`);
}

function readOptions() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  try {
    const options = { records: text, seed: text, directory: text, keep: flag, json: flag };
    const { values } = parseArgs({ args: words, options });
    const { keep, json, directory } = values;
    return {
      keep,
      json,
      directory: directory === undefined ? projectFile('.local/demo') : resolve(directory),
      records: wholeNumber('--records', values.records ?? '4000', [1, maxRecords]),
      // The demo's model was trained on the leads of seed 7.
      seed: wholeNumber('--seed', values.seed ?? '2026', [0, 2 ** 32 - 1]),
    };
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const reason = messageOf(cause).replace(/\. To specify a positional argument.*$/s, '');
    throw new UsageError(`${reason}. Add --help to list the options.`, { cause });
  }
}

function wholeNumber(name: string, text: string, [min, max]: readonly [number, number]): number {
  if (/^\d+$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}, but is "${text}".`);
}

async function runDemo(options: ReturnType<typeof readOptions>): Promise<void> {
  const startMs = performance.now();
  const screen = new Screen(options.json ? hiddenStream() : stdout, signal);
  signal.addEventListener('abort', () => screen.print('\nStopping …'), { once: true });
  const service = new DemoService(options.directory);
  await service.prepare();
  let isDone = false;
  try {
    screen.heading(`Leadscore demo: ${countText(options.records)} leads, scored over HTTP on this machine`);
    const { document, ended, ...running } = await tour({ options, service, screen, signal });
    const seconds = Math.round(performance.now() - startMs) / 1000;
    const files = options.keep ? service.files : {};
    if (options.json) stdout.write(`${JSON.stringify({ ...document, seconds, kept: options.keep, files })}\n`);
    if (options.keep) {
      runningService(screen, { ...running, service });
      await untilInterrupted(ended);
    } else {
      nextSteps(screen);
    }
    isDone = true;
  } finally {
    await service.stop();
    if (isDone && options.keep) {
      screen.print(`Stopped. Data, logs and files stay in ${service.shown()} until the next demo.`);
    } else if (isDone || signal.aborted) {
      await service.removeFiles();
      const took = readableDuration(performance.now() - startMs);
      screen.print(`${isDone ? '\n' : ''}Everything is stopped and removed again, after ${took}.`);
    } else {
      screen.print(`\nStopped. Logs and data stay in ${service.shown()} to look at.`);
    }
  }
}

/** @throws the error of `ended` when a part of the service ends before the signal */
function untilInterrupted(ended: Promise<Error>): Promise<void> {
  return new Promise((done, fail) => {
    if (signal.aborted) done();
    signal.addEventListener('abort', () => done(), { once: true });
    void ended.then(fail);
  });
}
