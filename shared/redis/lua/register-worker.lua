#!lua flags=allow-oom
-- register-worker.lua: renews the heartbeat of a worker process and drops the processes without one.
--
-- KEYS[1] sorted set of worker processes by the Redis ms of their last heartbeat
-- ARGV[1] member of this process; empty to only read   ARGV[2] age from which a heartbeat no longer counts, ms
--
-- returns the members that are left

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' then redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1]) end
-- A heartbeat from the future was written before the clock was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now - ARGV[2]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + ARGV[2]), '+inf')
return redis.call('ZRANGE', KEYS[1], 0, -1)
