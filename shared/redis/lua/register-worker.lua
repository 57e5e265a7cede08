#!lua flags=allow-oom
-- register-worker.lua: renews the heartbeat of a worker process, drops the processes without one, and reads the others
-- when they have changed.
--
-- KEYS[1] sorted set of worker processes by the Redis ms of their last heartbeat
-- KEYS[2] time of the latest join
-- ARGV[1] member of this process; empty to only read   ARGV[2] age from which a heartbeat no longer counts, ms
-- ARGV[3] state of the register that the caller knows; empty if it wants the members in any case
--
-- returns the state, and the members that are left unless the caller knows the state

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' and redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1]) == 1 then
  redis.call('SET', KEYS[2], time[1] .. '.' .. time[2])
end
-- A heartbeat from the future was written before the clock was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + ARGV[2]), '+inf')
-- A leave alone changes the number of members. The number stays when another process joins meanwhile.
local state = (redis.call('GET', KEYS[2]) or '') .. ' ' .. redis.call('ZCARD', KEYS[1])
if state == ARGV[3] then return { state } end
local found = redis.call('ZRANGE', KEYS[1], 0, -1)
table.insert(found, 1, state)
return found
