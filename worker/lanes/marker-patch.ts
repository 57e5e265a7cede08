import type { Redis } from 'ioredis';

/** BullMQ's commands that take a job; it names them with its version. */
const takesJob = /^(moveToActive|moveToFinished):/;

/**
 * BullMQ keeps a mark in Redis on which workers wait for a job, and puts it back whenever one has been taken: each job
 * wakes a second worker, which finds nothing. On this connection the mark stays only while a job is left.
 * To be called before BullMQ is given the connection, on which it then defines its commands; once for each.
 */
export function patchMarker(connection: Redis): void {
  const define = connection.defineCommand.bind(connection);
  connection.defineCommand = (name, definition) =>
    define(name, takesJob.test(name) ? { ...definition, lua: withoutVainMark(definition.lua) } : definition);
}

/** BullMQ's script (KEYS[1] the list of jobs that wait, the last of KEYS the mark: a sorted set), and what follows it. */
const withoutVainMark = (script: string): string => `
local function bullmq()
${script}
end
local reply = bullmq()
if redis.call('LLEN', KEYS[1]) == 0 then redis.call('ZREM', KEYS[#KEYS], '0') end
return reply
`;
