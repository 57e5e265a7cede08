import { parseArgs } from 'node:util';
import { projectFile } from '../../shared/project-root.js';
import { UsageError } from '../stack/run-to-end.js';
import { bareRow, besideBareRow, floorRow, scenarios } from './scenarios.js';
import { separateRowNames } from './separate-rows.js';
import { sustainedRowNames } from './sustained-report.js';

/** What one run of the benchmark does. */
export interface BenchOptions {
  /** Rows to measure: names of rows, or ids of scenarios; empty means all. */
  readonly only: readonly string[];
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
  /** The model: a directory or an archive. */
  readonly bundlePath: string;
  /** Whether the bundle is the demo's, for which leads can be made up. */
  readonly isDemoBundle: boolean;
  /** How often each row is measured. */
  readonly repeats: number;
  /** Load before each window, ms. */
  readonly warmUpMs: number;
  /** Length of a window, ms. */
  readonly windowMs: number;
  /** Load before the first window of all, ms: time for V8 to compile what is hot. */
  readonly firstWarmUpMs: number;
  /** How long a sustained row goes on. */
  readonly minutes: number;
  /** Where CPU profiles of the gateway and of a worker go; undefined for none. */
  readonly profileDirectory: string | undefined;
}

/** Names that `--only` takes. */
const rowNames: readonly string[] = [
  ...new Set([floorRow, ...scenarios.flatMap(({ row, id }) => [row, id])]),
];

/** What `--help` says. */
export const usageText = `Measures throughput, latency and CPU of the whole service on this machine.

npm run bench -- [options]
  --quick          one short repeat (under 50 s) in place of three (3 to 4 minutes)
  --only NAME      measure this row only; may be given several times: ${rowNames.join(', ')};
                   or, by themselves: ${separateRowNames.join(', ')}
  --repeats N      how often each row is measured
  --minutes N      how long each of ${sustainedRowNames.join(', ')} goes on (2)
  --bundle PATH    another model bundle than the demo's; its golden records are sent
  --profile DIR    write CPU profiles of the gateway and of one worker, and name the hottest functions
  --json           print one JSON document
  --help           this text
`;

/**
 * Reads the command line.
 * @param args without the program's name
 * @returns undefined when help was asked for
 * @throws UsageError
 */
export function readBenchOptions(args: readonly string[]): BenchOptions | undefined {
  const values = parsed(args);
  if (values.help === true) return undefined;
  const quick = values.quick === true;
  const only = values.only ?? [];
  const areSeparate = only.some((name) => separateRowNames.includes(name));
  const named = areSeparate ? separateRowNames : rowNames;
  const unknown = only.find((name) => !named.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `there is no row "${unknown}"${areSeparate ? ' beside rows that are measured by themselves' : ''}; there are ${named.join(', ')}`,
    );
  return {
    only: withBothOfPair(only),
    json: values.json === true,
    bundlePath: values.bundle ?? projectFile('scripts/demo/bundle'),
    isDemoBundle: values.bundle === undefined,
    repeats: wholeNumber('repeats', values.repeats ?? (quick ? '1' : '3')),
    minutes: wholeNumber('minutes', values.minutes ?? '2'),
    warmUpMs: quick ? 400 : 800,
    windowMs: quick ? 2_000 : 4_000,
    firstWarmUpMs: quick ? 2_500 : 8_000,
    profileDirectory: values.profile,
  };
}

/** The row that is held against the baseline, and the baseline, are measured together or not at all. */
function withBothOfPair(only: readonly string[]): readonly string[] {
  const pair = [besideBareRow, bareRow];
  return only.some((name) => pair.includes(name)) ? [...new Set([...only, ...pair])] : only;
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        only: { type: 'string', multiple: true },
        repeats: { type: 'string' },
        minutes: { type: 'string' },
        bundle: { type: 'string' },
        profile: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100)
    throw new UsageError(`--${option} must be a whole number from 1 to 100, but is "${text}"`);
  return value;
}
