import { projectFile } from '../../shared/process/project-root.js';
import { readOptions, UsageError } from '../servers/run-to-end.js';
import { bulkRowName } from './bulk/bulk.js';
import { candidateRowName } from './candidates/candidate-run.js';
import type { SectionOptions } from './report/tables.js';
import { bareRow, comparedRow, mainScenario, mixedRow, mixedSingles, scenarios } from './scenarios.js';
import { separateRowNames } from './separate-rows.js';
import { sustainedRowNames } from './sustained.js';

/** Options of one run of the benchmark. */
export interface BenchOptions extends Omit<SectionOptions, 'say' | 'onEnd'> {
  /** Rows or ids of scenarios to measure. Empty: all. */
  readonly only: readonly string[];
  /** Prints one JSON document instead of tables. */
  readonly json: boolean;
  /** Load before each window, ms. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Target of the CPU profiles. Undefined: no profiles. */
  readonly profileDirectory: string | undefined;
}

const usualTimes = { warmUpMs: 800, windowMs: 4_000, firstWarmUpMs: 8_000 };
const quickTimes = { warmUpMs: 400, windowMs: 2_000, firstWarmUpMs: 2_500 };

const rowNames = [...new Set(scenarios.flatMap(({ row, id }) => [row, id]))];

export const usageText = `Measures throughput, latency and CPU of the whole service on this machine.

npm run bench -- [options]
  --quick          one short repeat (under 50 s) instead of three (3 to 4 minutes)
  --only NAME      measure this row only; may be given several times: ${rowNames.join(', ')};
                   or, without any of these: ${separateRowNames.join(', ')}
  --repeats N      number of windows per row
  --rows N         rows of the file of ${bulkRowName} or ${candidateRowName} (400000)
  --minutes N      length of each of ${sustainedRowNames.join(', ')} (2)
  --bundle PATH    model bundle instead of the demo's; its golden records are sent
  --profile DIR    write a CPU profile of each process of the service at its end, for Chrome's DevTools
  --json           print one JSON document
  --help           print this text

npm run bench -- --against REF measures another commit and this one in turns. It has options of its own:
npm run bench -- --against REF --help
`;

/**
 * @param args without the program's name
 * @returns undefined for `--help`
 * @throws UsageError
 */
export function readBenchOptions(args: readonly string[]): BenchOptions | undefined {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { help, quick, json, only, repeats, minutes, rows, bundle, profile } = readOptions(args, {
    ...{ quick: flag, json: flag, help: flag, only: { ...text, multiple: true, default: [] } },
    ...{ repeats: text, minutes: text, rows: text, bundle: text, profile: text },
  });
  if (help) return undefined;
  const areSeparate = only.some((name) => separateRowNames.includes(name));
  const allowed = areSeparate ? separateRowNames : rowNames;
  const unknown = only.find((name) => !allowed.includes(name));
  if (unknown !== undefined) {
    const reason = areSeparate ? ' that can be measured together with the others' : '';
    throw new UsageError(`there is no row "${unknown}"${reason}; choose from ${allowed.join(', ')}`);
  }
  return {
    only: withCompared(only),
    json,
    bundlePath: bundle ?? projectFile('scripts/demo/bundle'),
    isDemoBundle: bundle === undefined,
    isQuick: quick,
    repeats: wholeNumber('repeats', repeats ?? (quick ? '1' : '3')),
    minutes: wholeNumber('minutes', minutes ?? '2'),
    rows: wholeNumber('rows', rows ?? '400000', 10_000_000),
    ...(quick ? quickTimes : usualTimes),
    profileDirectory: profile,
  };
}

/** Rows whose figures are compared. Only figures of the same repeat can be. */
const comparisons: readonly (readonly string[])[] = [
  [comparedRow, bareRow],
  [mixedRow, mixedSingles.alone, mainScenario.id],
];

/** Adds the rows that the chosen ones are compared with. `mainScenario` alone is compared with none. */
function withCompared(only: readonly string[]): readonly string[] {
  const added = comparisons.filter((rows) => rows.some((name) => only.includes(name) && name !== mainScenario.id));
  return [...new Set([...only, ...added.flat()])];
}

function wholeNumber(option: string, text: string, max = 100): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new UsageError(`--${option} must be a whole number from 1 to ${max}, but is "${text}"`);
  return value;
}
