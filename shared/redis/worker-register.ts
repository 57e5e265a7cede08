import type { Lane } from '../contract/lanes.js';
import type { RegisteredWorker } from '../messages/partitions.js';
import type { Redis } from './connect.js';
import { workerRegisterKey } from './keys.js';
import { type LuaCommand, luaCommand, stringsReply } from './lua-command.js';

/** How often a worker process renews its heartbeat, and reads those of the others. */
export const registerEveryMs = 1_000;
/** Another process takes over the partitions of one whose machine died, before a call's deadline. */
const maxAgeMs = 4_000;

/**
 * The register of the worker processes of one lane that take chunks. Its entries are renewed by heartbeats. The
 * processes of a lane share all partitions among themselves.
 */
export class WorkerRegister {
  private readonly register: LuaCommand<string[]>;
  private readonly key: string;

  /** @param redis a connection for commands */
  constructor(
    private readonly redis: Redis,
    lane: Lane,
  ) {
    this.key = workerRegisterKey(lane);
    this.register = luaCommand(redis, { file: 'shared/redis/lua/register-worker.lua', reply: stringsReply });
  }

  /**
   * Renews the heartbeat of a process.
   * @returns all living processes
   * @throws the error of Redis
   */
  async renew(worker: RegisteredWorker): Promise<RegisteredWorker[]> {
    return (await this.run(memberOf(worker))).map(workerOf);
  }

  /**
   * The living processes.
   * @throws the error of Redis
   */
  async list(): Promise<RegisteredWorker[]> {
    return (await this.run('')).map(workerOf);
  }

  /**
   * Removes a process that stops or has died.
   * @throws the error of Redis
   */
  async remove(worker: RegisteredWorker): Promise<void> {
    await this.redis.zrem(this.key, memberOf(worker));
  }

  private run(member: string): Promise<string[]> {
    return this.register({ keys: [this.key], args: [member, maxAgeMs] });
  }
}

const memberOf = ({ id, partitions }: RegisteredWorker): string => `${id} ${partitions}`;

function workerOf(member: string): RegisteredWorker {
  const [id = '', partitions] = member.split(' ');
  return { id, partitions: Number(partitions) };
}
