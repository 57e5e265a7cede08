import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Command, Redis } from 'ioredis';
import { readFixture } from '../../scripts/release/fixture-file.js';
import { projectFile } from '../../shared/process/project-root.js';
import { olderArguments } from './older-arguments.js';

/** The last release whose data and scripts are stored. */
const lastFixture = 'test/fixtures/releases/0.1.0.tar.gz';

const digestOf = (script: string): string => createHash('sha1').update(script).digest('hex');
const own = (file: string): string | undefined => {
  try {
    return readFileSync(projectFile(file), 'utf8');
  } catch {
    return undefined;
  }
};

/** A connection of which every second script is that of the last release. */
export interface MixedScripts {
  readonly redis: Redis;
  /** The scripts of the last release that have run, by path. */
  readonly ran: ReadonlySet<string>;
}

/** The scripts of the last release by path. */
export const olderScripts = async (): Promise<Readonly<Record<string, string>>> =>
  (await readFixture(projectFile(lastFixture))).scripts;

/**
 * Connects as two processes do of which one runs the last release. Each second run of a script is one of that release's
 * script under the same path, with its arguments. A script that this release does not have any more never runs.
 * @param ran gets the paths of the scripts of the last release that have run
 */
export async function mixedScripts(redisUrl: string, ran = new Set<string>()): Promise<MixedScripts> {
  const byOwn = new Map<string, { readonly file: string; readonly script: string }>();
  for (const [file, script] of Object.entries(await olderScripts())) {
    const text = own(file);
    if (text === undefined) continue;
    for (const name of [text, digestOf(text)]) byOwn.set(name, { file, script });
  }
  const runs = new Map<string, number>();
  const redis = new Redis(redisUrl);
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command: Command, ...rest) => {
    const isScript = command.name === 'evalsha' || command.name === 'eval';
    const older = isScript ? byOwn.get(String(command.args[0])) : undefined;
    const count = older === undefined ? 0 : (runs.get(older.file) ?? 0) + 1;
    if (older !== undefined) runs.set(older.file, count);
    if (older !== undefined && count % 2 === 0) {
      ran.add(older.file);
      // A digest that Redis does not know is answered by NOSCRIPT, and the whole script follows.
      command.args[0] = command.name === 'eval' ? older.script : digestOf(older.script);
      const given = command.args.slice(2).map(String);
      const keys = given.splice(0, Number(command.args[1]));
      const args = olderArguments[older.file]?.({ keys, args: given }) ?? given;
      command.args.splice(2, Number.POSITIVE_INFINITY, ...keys, ...args);
    }
    return send(command, ...rest);
  };
  return { redis, ran };
}
