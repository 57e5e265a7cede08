import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
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

/** How often each release's script has run, by path. */
export type ScriptRuns = Map<string, { turns: number; own: number; older: number }>;

/** A connection of which every second script is that of the last release. */
export interface MixedScripts {
  readonly redis: Redis;
  readonly runs: ScriptRuns;
}

/** The scripts of the last release by path. */
const olderScripts = async (): Promise<Readonly<Record<string, string>>> =>
  (await readFixture(projectFile(lastFixture))).scripts;

/** Expects that all scripts have run in turns, and those of a folder that the last release has too in both forms. */
export async function expectTurns(runs: ScriptRuns, folder: string): Promise<void> {
  const ofFolder = Object.keys(await olderScripts()).filter((file) => file.startsWith(folder));
  expect([...runs.keys()]).to.include.members(ofFolder);
  for (const [file, { own, older }] of runs) {
    if (ofFolder.includes(file)) expect(older, file).to.be.above(0);
    expect(own - older, file).to.be.within(0, 1);
  }
}

/**
 * Connects as two processes do of which one runs the last release. Each second run of a script is one of that release's
 * script under the same path, with its arguments. A script that this release does not have any more never runs.
 * @param runs counts the runs. Connections with the same one take turns together
 */
export async function mixedScripts(redisUrl: string, runs: ScriptRuns = new Map()): Promise<MixedScripts> {
  const byOwn = new Map<string, { readonly file: string; readonly script: string }>();
  for (const [file, script] of Object.entries(await olderScripts())) {
    const text = own(file);
    if (text === undefined) continue;
    for (const name of [text, digestOf(text)]) byOwn.set(name, { file, script });
  }
  // A client sends the whole script after NOSCRIPT. It is the same run: a turn of its own would always be the older's.
  const unknown = new Map<string, ('own' | 'older')[]>();
  const redis = new Redis(redisUrl);
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (command: Command, ...rest) => {
    const isScript = command.name === 'evalsha' || command.name === 'eval';
    const older = isScript ? byOwn.get(String(command.args[0])) : undefined;
    if (older === undefined) return send(command, ...rest);
    const { file, script } = older;
    const count = runs.get(file) ?? { turns: 0, own: 0, older: 0 };
    runs.set(file, count);
    const again = command.name === 'eval' ? unknown.get(file)?.shift() : undefined;
    if (again === undefined) count.turns += 1;
    const turn = again ?? (count.turns % 2 === 0 ? 'older' : 'own');
    if (turn === 'older') {
      command.args[0] = command.name === 'eval' ? script : digestOf(script);
      const given = command.args.slice(2).map(String);
      const keys = given.splice(0, Number(command.args[1]));
      const args = olderArguments[file]?.({ keys, args: given }) ?? given;
      command.args.splice(2, Number.POSITIVE_INFINITY, ...keys, ...args);
    }
    // Before the client gets the reply, because it is attached first.
    command.promise.then(
      () => {
        count[turn] += 1;
      },
      (error: Error) => {
        if (error.message.startsWith('NOSCRIPT')) unknown.set(file, [...(unknown.get(file) ?? []), turn]);
        else count[turn] += 1;
      },
    );
    return send(command, ...rest);
  };
  return { redis, runs };
}
