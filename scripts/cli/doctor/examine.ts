import type { OperatorConfig } from '../../../shared/config/config.js';
import { latestSweeps } from '../../../shared/quota/sweep-log.js';
import type { Redis } from '../../../shared/redis/connect.js';
import { ProcessRegister } from '../../../shared/redis/process-register.js';
import { fingerprintOf, KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import type { CliContext } from '../context/cli-context.js';
import { CliError } from '../context/cli-error.js';
import { checkInstallation, checkMongoServer, unusableMongo } from './check-mongo.js';
import { checkProcesses, checkSweeps, type Participant } from './check-processes.js';
import { checkRedisServer, unreachableRedis } from './check-redis.js';
import type { Checked, Finding } from './finding.js';

/**
 * Examines both servers and all running processes. A server that is away hides only what it knows. Writes nothing.
 * @throws CliError when no servers are configured
 */
export async function examine(context: CliContext): Promise<Checked> {
  const { connections } = context;
  const [redis, database] = await Promise.all([
    connections.redis().catch(orFinding(unreachableRedis)),
    connections.anyDatabase().catch(orFinding(unusableMongo)),
  ]);
  const parts: Checked[] = [];
  const ofRedis: Checked =
    'code' in redis ? { facts: [['Redis', 'cannot be reached']], findings: [redis] } : await checkRedisServer(redis);
  parts.push(ofRedis);
  // On such a server the scripts fail by which processes are read.
  const isUsable = !ofRedis.findings.some(({ code }) => code === 'redis_unusable' || code === 'redis_version');
  if ('code' in database) parts.push({ facts: [['MongoDB', 'cannot be used']], findings: [database] });
  else parts.push(await checkMongoServer(database));
  const stored = 'code' in database ? undefined : database;
  if (!('code' in redis) && isUsable) {
    if (stored !== undefined) parts.push({ facts: [], findings: await checkInstallation(redis, stored) });
    parts.push(await ofProcesses(context, redis, stored));
  }
  return { facts: parts.flatMap(({ facts }) => facts), findings: parts.flatMap(({ findings }) => findings) };
}

const orFinding =
  (findingOf: (error: unknown) => Finding) =>
  (error: unknown): Finding => {
    if (error instanceof CliError && error.code === 'unavailable') return findingOf(error);
    throw error;
  };

async function ofProcesses(context: CliContext, redis: Redis, database: Db | undefined): Promise<Checked> {
  const noted = await new ProcessRegister(redis).list();
  const stored = (database && (await new KeySettingsStore(database).read())) ?? undefined;
  const processes = noted.map((each) => withOnePepper(each, stored));
  const others = [await thisCommand(context), ...keysOf(stored)].map((each) => withOnePepper(each, stored));
  const [last] = await latestSweeps(redis);
  const { facts, findings } = checkProcesses(processes, others);
  const lastMsAgo = last && context.clock.now() - last.atMs;
  return { facts, findings: [...findings, ...checkSweeps(processes, lastMsAgo)] };
}

/** The settings that commands use. Without a pepper, commands that need one are refused. */
async function thisCommand({ config, connections }: CliContext): Promise<Participant> {
  const pepper = await connections.keyPepper().catch(() => undefined);
  const { keyBrand, requestTimeoutMs, webhookTimeoutMs, clockOffsetMs }: OperatorConfig = config;
  return {
    name: 'this command',
    settings: {
      KEY_BRAND: keyBrand,
      REQUEST_TIMEOUT_MS: String(requestTimeoutMs),
      WEBHOOK_TIMEOUT_MS: String(webhookTimeoutMs),
      CLOCK_OFFSET_MS: String(clockOffsetMs),
      ...(pepper === undefined ? {} : { KEY_PEPPER: fingerprintOf(pepper) }),
    },
  };
}

type StoredKeys = NonNullable<Awaited<ReturnType<KeySettingsStore['read']>>>;

function keysOf(stored: StoredKeys | undefined): Participant[] {
  if (stored === undefined) return [];
  const settings = { KEY_BRAND: stored.brand, KEY_PEPPER: stored.pepper_fingerprint };
  return [{ name: 'the keys in the database', settings }];
}

/** While a pepper is rolled out, a process with the previous one finds all keys, too. */
function withOnePepper<Each extends Pick<Participant, 'settings'>>(
  participant: Each,
  stored: StoredKeys | undefined,
): Each {
  const { settings } = participant;
  const isPrevious = settings.KEY_PEPPER !== undefined && settings.KEY_PEPPER === stored?.previous_fingerprint;
  return isPrevious
    ? { ...participant, settings: { ...settings, KEY_PEPPER: stored.pepper_fingerprint } }
    : participant;
}
