import type { Lane } from '../contract/lanes.js';
import type { RegisteredWorker } from '../messages/partitions.js';
import { messageVersion } from '../messages/score-job.js';
import type { Redis } from './connect.js';
import { latestJoinKey, workerRegisterKey } from './keys.js';
import { type LuaCommand, luaCommand, stringsReply } from './lua-command.js';

/** How often a worker process renews its heartbeat, and gets to know that others came or went. */
export const registerEveryMs = 1_000;
/**
 * How often it reads all processes without a change. A process of a release that does not note its join may come when
 * another goes.
 */
const readAllEveryMs = 5_000;
/** Another process takes over the partitions of one whose machine died, before a call's deadline. */
const maxAgeMs = 4_000;

/** The processes that the register had in a state. */
interface Known {
  readonly state: string;
  readonly workers: readonly RegisteredWorker[];
  readonly readMs: number;
}

/**
 * The register of the worker processes of one lane that take chunks. Its entries are renewed by heartbeats. The
 * processes of a lane share all partitions among themselves. During a release, those of each message version do so
 * apart: a process takes chunks of its own version only.
 */
export class WorkerRegister {
  private readonly register: LuaCommand<string[]>;
  private readonly keys: readonly [string, string];
  private known: Known = { state: '', workers: [], readMs: 0 };

  /**
   * @param redis a connection for commands
   * @param version message version of the processes that it registers and lists
   */
  constructor(
    private readonly redis: Redis,
    lane: Lane,
    private readonly version = messageVersion,
  ) {
    this.keys = [workerRegisterKey(lane), latestJoinKey(lane)];
    this.register = luaCommand(redis, { file: 'shared/redis/lua/register-worker.lua', reply: stringsReply });
  }

  /**
   * Renews the heartbeat of a process.
   * @returns the living processes of the version
   * @throws the error of Redis
   */
  async renew(worker: RegisteredWorker): Promise<readonly RegisteredWorker[]> {
    const isFresh = performance.now() - this.known.readMs < readAllEveryMs;
    const sent = isFresh ? this.known.state : '';
    const { state, members } = await this.run(memberOf(worker, this.version), sent);
    if (state !== sent) this.known = { state, workers: this.ofVersion(members), readMs: performance.now() };
    return this.known.workers;
  }

  /**
   * The living processes of the version.
   * @throws the error of Redis
   */
  async list(): Promise<readonly RegisteredWorker[]> {
    return this.ofVersion((await this.run('', '')).members);
  }

  /**
   * The living processes of each message version.
   * @throws the error of Redis
   */
  async listAll(): Promise<ReadonlyMap<number, readonly RegisteredWorker[]>> {
    return byVersion((await this.run('', '')).members);
  }

  /**
   * Removes a process that stops or has died.
   * @throws the error of Redis
   */
  async remove(worker: RegisteredWorker): Promise<void> {
    await this.redis.zrem(this.keys[0], memberOf(worker, this.version));
  }

  private ofVersion(members: readonly string[]): readonly RegisteredWorker[] {
    return byVersion(members).get(this.version) ?? [];
  }

  /** @returns no members when `knownState` is the state of the register */
  private async run(member: string, knownState: string): Promise<{ state: string; members: readonly string[] }> {
    const [state = '', ...members] = await this.register({ keys: this.keys, args: [member, maxAgeMs, knownState] });
    return { state, members };
  }
}

const memberOf = ({ id, partitions }: RegisteredWorker, version: number): string => `${id} ${partitions} ${version}`;

function byVersion(members: readonly string[]): ReadonlyMap<number, readonly RegisteredWorker[]> {
  const found = new Map<number, RegisteredWorker[]>();
  for (const member of members) {
    const [id = '', partitions, version] = member.split(' ');
    const ofVersion = found.get(Number(version)) ?? [];
    found.set(Number(version), ofVersion);
    ofVersion.push({ id, partitions: Number(partitions) });
  }
  return found;
}
