/** `npm run bench`: measures the whole service on this machine. See docs/performance.md. */
import { messageOf } from '../../shared/errors.js';
import { readBenchOptions, UsageError, usageText } from './bench-options.js';
import { explainReport, explainRowNames } from './explain-report.js';
import { runBench } from './run-bench.js';

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

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void end().then(() => process.exit(130));
  });
}

try {
  const options = readBenchOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usageText);
  else if (options.only.some((name) => explainRowNames.includes(name)))
    process.stdout.write(await explainReport(options.only, options));
  else await runBench(options, { onEnd: (undo) => undoings.push(undo), end });
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
