/** `npm run bench`: measures the whole service on this machine. See docs/performance.md. */
import { messageOf } from '../../shared/errors.js';
import { readBenchOptions, UsageError, usageText } from './bench-options.js';
import type { OnEnd } from './bench-service.js';
import { runBench } from './run-bench.js';
import { separateReport, separateRowNames } from './separate-rows.js';

const undoings: (() => Promise<unknown> | undefined)[] = [];
let ending: Promise<void> | undefined;

/** Undoes in reverse what was started; a part that cannot be undone does not keep the others. */
function end(): Promise<void> {
  ending ??= (async () => {
    for (const undo of undoings.reverse()) {
      try {
        await undo();
      } catch (error) {
        process.stderr.write(`${messageOf(error)}\n`);
      }
    }
  })();
  return ending;
}

const onEnd: OnEnd = (undo) => undoings.push(undo);
const say = (line: string): boolean => process.stderr.write(`${line}\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void end().then(() => process.exit(130));
  });
}

try {
  const options = readBenchOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usageText);
  else if (options.only.some((name) => separateRowNames.includes(name)))
    process.stdout.write(await separateReport(options.only, { ...options, say, onEnd }));
  else await runBench(options, { onEnd, end });
} catch (error) {
  if (ending === undefined) {
    process.stderr.write(
      `${error instanceof UsageError ? '' : 'The benchmark failed: '}${messageOf(error)}\n`,
    );
    if (error instanceof Error && error.cause !== undefined)
      process.stderr.write(`${messageOf(error.cause)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
} finally {
  await end();
}
