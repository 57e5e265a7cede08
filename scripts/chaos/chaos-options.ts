import { parseArgs } from 'node:util';
import { projectFile } from '../../shared/project-root.js';
import { UsageError } from '../stack/run-to-end.js';
import type { ChaosOptions } from './run-chaos.js';

/** What one run does, and how it is told. */
export interface ChaosCommand extends ChaosOptions {
  /** One JSON document on standard output and nothing else. */
  readonly json: boolean;
}

/** What `--help` says. */
export const usageText = `Causes random faults while calls are made, then checks that each call was counted once or not at all.

npm run chaos -- [options]
  --minutes M      how long calls are made and faults caused: 2 unless told otherwise
  --seed S         which calls and faults, in which order; a random one, which is printed, unless told otherwise
  --history FILE   where the history goes, a JSON line for each call, fault and ledger row
  --json           print one JSON document
  --help           this text

Ends with 0 when all holds, with 1 when something does not, or the machine was too busy to tell.
`;

const longestMinutes = 24 * 60;
const largestSeed = 2 ** 31 - 1;

/**
 * Reads the command line.
 * @param args without the program's name
 * @returns undefined when help was asked for
 * @throws UsageError
 */
export function readChaosOptions(args: readonly string[]): ChaosCommand | undefined {
  const values = parsed(args);
  if (values.help === true) return undefined;
  const minutes = Number(values.minutes ?? '2');
  if (!(minutes > 0 && minutes <= longestMinutes))
    throw new UsageError(`--minutes must be a number up to ${longestMinutes}, but is "${values.minutes}"`);
  const seed = values.seed === undefined ? Math.floor(Math.random() * largestSeed) : Number(values.seed);
  if (!Number.isInteger(seed) || seed < 0 || seed > largestSeed)
    throw new UsageError(`--seed must be a whole number up to ${largestSeed}, but is "${values.seed}"`);
  return {
    minutes,
    seed,
    historyFile: values.history ?? projectFile(`.local/chaos/history-${seed}.jsonl`),
    json: values.json === true,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string' },
        seed: { type: 'string' },
        history: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
