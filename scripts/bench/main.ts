import { runToEnd } from '../servers/run-to-end.js';
import { readBenchOptions, usageText } from './bench-options.js';
import { ProgressLines } from './report/progress-lines.js';
import { runBench } from './run-bench.js';
import { separateReport, separateRowNames } from './separate-rows.js';

/** `npm run bench`: measures the whole service on this machine. See docs/performance.md. */

const say = (line: string): boolean => process.stderr.write(`${line}\n`);
const progressOf = (windows: number): ProgressLines => new ProgressLines(process.stderr, windows);

await runToEnd(async ({ onEnd, end }) => {
  const options = readBenchOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usageText);
  else if (options.only.some((name) => separateRowNames.includes(name)))
    process.stdout.write(await separateReport({ ...options, say, progressOf, onEnd }));
  else await runBench(options, { onEnd, end });
}, 'The benchmark failed');
