import { readOptions, UsageError } from '../servers/run-to-end.js';
import { attacks } from './attacks/table.js';
import type { AttackOptions } from './run-attacks.js';

export interface AttackCommand extends AttackOptions {
  /** Prints one JSON document instead of the report. */
  readonly json: boolean;
}

export const usageText = `Runs hostile callers in turn beside a victim, and checks that none of them harms it.

npm run attack -- [options]
  --only NAME      run this attack only; may be given several times
  --seconds N      length of each attack (8)
  --list           print the attacks and what each does
  --json           print one JSON document
  --help           print this text

The exit code is 0 without problems, 1 if a promise was broken or the machine was too busy to judge.
`;

const listText = (): string => attacks.map(({ name, does }) => `${name.padEnd(26)}${does}\n`).join('');

const maxSeconds = 600;

/**
 * @param args without the program's name
 * @returns a text to print for `--help` and `--list`
 * @throws UsageError
 */
export function readAttackOptions(args: readonly string[]): AttackCommand | string {
  const flag = { type: 'boolean' } as const;
  const values = readOptions(args, {
    ...{ only: { type: 'string', multiple: true }, seconds: { type: 'string' } },
    ...{ list: flag, json: flag, help: flag },
  });
  if (values.help === true) return usageText;
  if (values.list === true) return listText();
  const only = values.only ?? [];
  const unknown = only.find((name) => !attacks.some((attack) => attack.name === name));
  if (unknown !== undefined) throw new UsageError(`there is no attack "${unknown}"; --list prints all of them`);
  const seconds = Number(values.seconds ?? '8');
  if (!(seconds > 0 && seconds <= maxSeconds))
    throw new UsageError(`--seconds must be a number up to ${maxSeconds}, but is "${values.seconds}"`);
  return { only, seconds, quietSeconds: seconds / 2, json: values.json === true };
}
