import { readOptions, UsageError } from '../../servers/run-to-end.js';
import { comparedRow, type Load, mainScenario, type Scenario, scenarios } from '../scenarios.js';

/** Rows that are measured in pairs by default. A job is no window of calls, so it has no scenario. */
const usualRows = ['batch', 'single', 'webhook', 'job'] as const;
/** `idle` has no calls, and each side also has a runner and a console. */
const pairRows = [...usualRows, 'idle'] as const;
export type PairRow = (typeof pairRows)[number];

type PairScenario = Pick<Scenario, 'shape' | 'leads'> & { readonly load: Load };

/** The calls of each row, as in a usual run. */
export const scenarioOf: Readonly<Record<Exclude<PairRow, 'job' | 'idle'>, PairScenario>> = {
  batch: mainScenario,
  single: scenarioWithId('single'),
  webhook: scenarioWithId(comparedRow),
};

/** Options of `npm run bench -- --against REF`. */
export interface PairOptions {
  /** A commit, branch or tag. */
  readonly against: string;
  readonly rows: readonly PairRow[];
  /** Windows of each row on each side. */
  readonly pairs: number;
  /** Prints one JSON document instead of tables. */
  readonly json: boolean;
}

const maxPairs = 100;

export const pairUsageText = `Measures this working tree and another commit in turns, and prints the ratios of the pairs.

npm run bench -- --against REF [options]
  --against REF    commit, branch or tag; it is built in .local/ and removed at the end
  --rows LIST      some of ${pairRows.join(',')}, with commas; all but idle by default
  --pairs N        windows of each row on each side (8)
  --json           print one JSON document
  --help           print this text
`;

/** Whether these arguments ask for pairs. */
export const asksForPairs = (args: readonly string[]): boolean =>
  args.some((argument) => argument === '--against' || argument.startsWith('--against='));

/**
 * @param args without the program's name
 * @returns undefined for `--help`
 * @throws UsageError
 */
export function readPairOptions(args: readonly string[]): PairOptions | undefined {
  // `--against --help` has no commit.
  if (args.includes('--help')) return undefined;
  const text = { type: 'string' } as const;
  const { json, ...given } = readOptions(args, {
    ...{ against: text, rows: text, pairs: text },
    json: { type: 'boolean', default: false },
  });
  const { against = '', rows = usualRows.join(), pairs = '8' } = given;
  // Git would read such a name as an option.
  if (against === '' || against.startsWith('-'))
    throw new UsageError(`--against needs a commit, branch or tag, but is "${against}"`);
  const chosen = rows.split(',');
  const unknown = chosen.find((row) => !pairRows.some((known) => known === row));
  if (unknown !== undefined)
    throw new UsageError(`--rows has no "${unknown}"; choose from ${pairRows.join(', ')}, with commas between`);
  const count = Number(pairs);
  if (!Number.isInteger(count) || count < 1 || count > maxPairs)
    throw new UsageError(`--pairs must be a whole number from 1 to ${maxPairs}, but is "${pairs}"`);
  return { against, rows: pairRows.filter((row) => chosen.includes(row)), pairs: count, json };
}

function scenarioWithId(wanted: string): PairScenario {
  const { load, ...scenario } = scenarios.find(({ id }) => id === wanted) ?? mainScenario;
  if (scenario.id !== wanted || 'shareOfMain' in load) throw new Error(`no scenario "${wanted}" has a load of its own`);
  return { ...scenario, load };
}
