import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile } from '../../shared/process/project-root.js';
import { ownRelease } from '../../shared/process/release.js';
import { readOptions, runToEnd, UsageError } from '../servers/run-to-end.js';
import { callsToRecord, startOfStory, tellFirstMonths } from './first-months.js';
import { dumpCollections, dumpKeys } from './fixture-data.js';
import { type RecordedAnswer, writeFixture } from './fixture-file.js';
import { startInstallation } from './installation.js';
import { answerInTime } from './recorded-answers.js';

const options = { out: { type: 'string' } } as const;

/** The Lua scripts of this release, by path. */
async function scriptsOfRelease(): Promise<Record<string, string>> {
  const names = await readdir(projectFile('shared'), { recursive: true });
  const paths = names.filter((name) => name.endsWith('.lua')).map((name) => join('shared', name));
  const texts = await Promise.all(paths.sort().map((path) => readFile(projectFile(path), 'utf8')));
  return Object.fromEntries(paths.map((path, index) => [path, texts[index] ?? '']));
}

await runToEnd(async ({ onEnd }) => {
  const { out } = readOptions(process.argv.slice(2), options);
  if (out === undefined) throw new UsageError('Usage: node dist/scripts/release/main.js --out FILE.tar.gz');
  const endMs = Date.now();
  const installation = await startInstallation(startOfStory(endMs), onEnd);
  const { database, redis, organisationId, modelIds, keys, servers } = installation;
  const told = await tellFirstMonths(installation, endMs);
  // Written before the answers, because some of their calls change data.
  const collections = await dumpCollections(database);
  const stored = await dumpKeys(redis);
  const answers: RecordedAnswer[] = [];
  await installation.running(endMs, async (url) => {
    for (const call of callsToRecord(installation, told)) answers.push(await answerInTime(url, keys, call));
  });
  const about = {
    release: ownRelease(),
    redis: /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown',
    mongod: String((await database.admin().serverInfo()).version),
    writtenAt: new Date(endMs).toISOString(),
    ...{ pepper: servers.keyPepper, keys, organisationId, modelIds, erased: told.erased },
  };
  const fixture = { about, collections, keys: stored, scripts: await scriptsOfRelease(), answers };
  const bytes = await writeFixture(out, fixture);
  process.stdout.write(`${out}: ${bytes} bytes, ${answers.length} answers\n`);
}, 'The fixture was not written');
