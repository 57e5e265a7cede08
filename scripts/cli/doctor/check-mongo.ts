import { UnusableServer } from '../../../shared/async/retry.js';
import { messageOf } from '../../../shared/contract/errors.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { installationKey } from '../../../shared/redis/keys.js';
import { type Db, withMongoTimeout } from '../../../shared/store/connection/connect.js';
import { storedInstallationId } from '../../../shared/store/connection/installation-id.js';
import { schemaProblemOf } from '../../../shared/store/schema/schema-state.js';
import { type Checked, type Finding, freeText, isNearlyFull, isOlder } from './finding.js';

const minMajor = 6;
const timeoutMs = 5_000;

/** Checks the MongoDB of an installation: its version, its disk, and whether this release can use the database. */
export async function checkMongoServer(database: Db): Promise<Checked> {
  const command = (document: Readonly<Record<string, number>>) =>
    withMongoTimeout(timeoutMs, (signal) => database.command(document, { signal }));
  const version = String((await command({ buildInfo: 1 })).version);
  const { fsTotalSize: total = 0, fsUsedSize: used = 0 } = await command({ dbStats: 1 });
  const free = Number(total) - Number(used);
  const findings: Finding[] = [];
  if (isOlder(version, minMajor))
    findings.push({
      code: 'mongodb_version',
      problem: `MongoDB is version ${version}, and Leadscore needs ${minMajor} or later`,
      harm: 'Clustered collections and transactions do not work as they must.',
      remedy: `Upgrade MongoDB to ${minMajor} or later.`,
    });
  if (isNearlyFull(free, Number(total)))
    findings.push({
      code: 'mongodb_disk',
      problem: `The disk of MongoDB is nearly full: ${freeText(free, Number(total))}`,
      harm: 'MongoDB ends when it cannot write. All scoring calls then get 500.',
      remedy: 'Make the disk larger, or lower RETENTION_DAYS.',
    });
  const schema = await schemaProblemOf(database);
  if (schema !== undefined)
    findings.push({ ...schema, harm: 'Processes and commands of this release refuse to start.' });
  // Not every server tells.
  const disk = Number(total) > 0 ? `, disk ${freeText(free, Number(total))}` : '';
  return { facts: [['MongoDB', `${version}${disk}`]], findings };
}

/** @param error of the connection: the server is away, or it is no replica set */
export function unusableMongo(error: unknown): Finding {
  const cause = error instanceof Error ? error.cause : undefined;
  const isAway = !(cause instanceof UnusableServer);
  return {
    code: isAway ? 'mongodb_unreachable' : 'mongodb_unusable',
    problem: messageOf(error),
    harm: isAway
      ? 'Scoring calls get 500, because their scores cannot be recorded. No process can start.'
      : 'A call is recorded in a transaction, for which MongoDB must be a replica set. No process can start.',
    remedy: isAway
      ? 'Start MongoDB, or correct MONGODB_URL here and in all processes.'
      : 'Correct the server as the message says, or name another one in MONGODB_URL.',
  };
}

/** Checks that Redis and MongoDB belong to the same installation. Writes nothing. */
export async function checkInstallation(redis: Redis, database: Db): Promise<readonly Finding[]> {
  const [claimed, stored] = await Promise.all([redis.get(installationKey), storedInstallationId(database)]);
  if (claimed === null || claimed === stored) return [];
  return [
    {
      code: 'other_database',
      problem: 'Redis counts usage for another database than that in MONGODB_URL',
      harm: 'Processes with these two addresses do not start: they would count calls of one database in the other.',
      remedy:
        'Correct the wrong address. If the database has replaced the other one for good, empty that Redis (FLUSHDB).',
    },
  ];
}
