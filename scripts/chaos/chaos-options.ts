import { projectFile } from '../../shared/process/project-root.js';
import { readOptions, UsageError } from '../servers/run-to-end.js';
import type { ChaosOptions } from './run-chaos.js';

export interface ChaosCommand extends ChaosOptions {
  /** Prints one JSON document instead of the report. */
  readonly json: boolean;
}

export const usageText = `Injects random faults under load, then checks that each call was counted once or not at all.

npm run chaos -- [options]
  --minutes M      duration of calls and faults (2)
  --cluster        on a Redis Cluster of three masters with four partitions and a hot model,
                   without faults of the network
  --seed S         determines the calls, the faults and their order; random by default, and printed
  --history FILE   target of the history, one JSON line for each call, fault and ledger row
  --json           print one JSON document
  --help           print this text

The exit code is 0 without problems, 1 with problems or if the machine was too busy to judge.
`;

const maxMinutes = 24 * 60;
const maxSeed = 2 ** 31 - 1;

/**
 * @param args without the program's name
 * @returns undefined for `--help`
 * @throws UsageError
 */
export function readChaosOptions(args: readonly string[]): ChaosCommand | undefined {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
  const values = readOptions(args, {
    ...{ minutes: text, seed: text, cluster: flag, history: text },
    ...{ json: flag, help: flag },
  });
  if (values.help === true) return undefined;
  const minutes = Number(values.minutes ?? '2');
  if (!(minutes > 0 && minutes <= maxMinutes))
    throw new UsageError(`--minutes must be a number up to ${maxMinutes}, but is "${values.minutes}"`);
  const seed = values.seed === undefined ? Math.floor(Math.random() * maxSeed) : Number(values.seed);
  if (!Number.isInteger(seed) || seed < 0 || seed > maxSeed)
    throw new UsageError(`--seed must be a whole number up to ${maxSeed}, but is "${values.seed}"`);
  return {
    minutes,
    seed,
    onRedisCluster: values.cluster === true,
    historyFile: values.history ?? projectFile(`.local/chaos/history-${seed}.jsonl`),
    json: values.json === true,
  };
}
