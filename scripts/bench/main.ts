import { runToEnd } from '../servers/run-to-end.js';
import { readBenchOptions, usageText } from './bench-options.js';
import { runBench } from './bench-run.js';
import { asksForPairs, pairUsageText, readPairOptions } from './pairs/pair-options.js';
import { runPairs } from './pairs/pair-run.js';
import { separateReport, separateRowNames } from './separate-rows.js';

/** `npm run bench`: measures the whole service on this machine. See docs/performance.md. */
await runToEnd(async (run) => {
  const args = process.argv.slice(2);
  if (asksForPairs(args)) {
    const pairs = readPairOptions(args);
    if (pairs === undefined) process.stdout.write(pairUsageText);
    else await runPairs(pairs, run);
    return;
  }
  const options = readBenchOptions(args);
  if (options === undefined) process.stdout.write(usageText);
  else if (options.only.some((name) => separateRowNames.includes(name)))
    process.stdout.write(await separateReport(options, run.onEnd));
  else await runBench(options, run);
}, 'The benchmark failed');
