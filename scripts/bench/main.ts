import { runToEnd } from '../servers/run-to-end.js';
import { readBenchOptions, usageText } from './bench-options.js';
import { runBench } from './bench-run.js';
import { separateReport, separateRowNames } from './separate-rows.js';

/** `npm run bench`: measures the whole service on this machine. See docs/performance.md. */
await runToEnd(async (run) => {
  const options = readBenchOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usageText);
  else if (options.only.some((name) => separateRowNames.includes(name)))
    process.stdout.write(await separateReport(options, run.onEnd));
  else await runBench(options, run);
}, 'The benchmark failed');
