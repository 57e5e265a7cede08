import { parseArgs } from 'node:util';
import { projectFile } from '../../shared/process/project-root.js';
import { UsageError } from '../servers/run-to-end.js';
import { bareRow, comparedRow, scenarios } from './scenarios.js';
import { separateRowNames } from './separate-rows.js';
import { sustainedRowNames } from './sustained.js';

/** Options of one run of the benchmark. */
export interface BenchOptions {
  /** Rows or ids of scenarios to measure. Empty: all. */
  readonly only: readonly string[];
  /** Prints one JSON document instead of tables. */
  readonly json: boolean;
  /** Model bundle: a directory or an archive. */
  readonly bundlePath: string;
  /** True for the demo's bundle, whose leads can be generated. */
  readonly isDemoBundle: boolean;
  /** Windows per row. */
  readonly repeats: number;
  /** Load before each window, ms. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Load before the first window, ms. V8 compiles the hot code in this time. */
  readonly firstWarmUpMs: number;
  /** Length of a sustained row. */
  readonly minutes: number;
  /** Target of the CPU profiles. Undefined: no profiles. */
  readonly profileDirectory: string | undefined;
}

const rowNames = [...new Set(scenarios.flatMap(({ row, id }) => [row, id]))];

export const usageText = `Measures throughput, latency and CPU of the whole service on this machine.

npm run bench -- [options]
  --quick          one short repeat (under 50 s) instead of three (3 to 4 minutes)
  --only NAME      measure this row only; may be given several times: ${rowNames.join(', ')};
                   or, without any of these: ${separateRowNames.join(', ')}
  --repeats N      number of windows per row
  --minutes N      length of each of ${sustainedRowNames.join(', ')} (2)
  --bundle PATH    model bundle instead of the demo's; its golden records are sent
  --profile DIR    write a CPU profile of each process of the service at its end, for Chrome's DevTools
  --json           print one JSON document
  --help           print this text
`;

/**
 * @param args without the program's name
 * @returns undefined for `--help`
 * @throws UsageError
 */
export function readBenchOptions(args: readonly string[]): BenchOptions | undefined {
  const values = parsed(args);
  if (values.help === true) return undefined;
  const quick = values.quick === true;
  const only = values.only ?? [];
  const areSeparate = only.some((name) => separateRowNames.includes(name));
  const allowed = areSeparate ? separateRowNames : rowNames;
  const unknown = only.find((name) => !allowed.includes(name));
  if (unknown !== undefined) {
    const reason = areSeparate ? ' that can be measured together with the others' : '';
    throw new UsageError(`there is no row "${unknown}"${reason}; choose from ${allowed.join(', ')}`);
  }
  return {
    only: withComparison(only),
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

/** Adds `webhook` to `bare-bullmq` and the reverse: only figures of the same repeat can be compared. */
function withComparison(only: readonly string[]): readonly string[] {
  const pair = [comparedRow, bareRow];
  return only.some((name) => pair.includes(name)) ? [...new Set([...only, ...pair])] : only;
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...{ quick: flag, json: flag, help: flag, only: { ...text, multiple: true } },
        ...{ repeats: text, minutes: text, bundle: text, profile: text },
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
