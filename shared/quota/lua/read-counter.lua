#!lua flags=no-writes
-- read-counter.lua: reads a counter, and whether it can be trusted.
--
-- KEYS[1] usage hash of (organisation, bucket, month)
--
-- Returns {code, used, leased}, both in records:
--    `1` known.   `-2` unknown counter.
--    `-10` set from the ledger in an earlier run of Redis: the newest writes may be lost.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased', 'run')
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
if not usage[1] then return {-2, 0, 0} end
return {usage[3] == run and 1 or -10, tonumber(usage[1]), tonumber(usage[2])}
