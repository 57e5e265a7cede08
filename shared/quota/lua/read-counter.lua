#!lua flags=no-writes
-- read-counter.lua: what a counter says, and whether it can be relied on.
--
-- KEYS[1] usage hash of (organisation, bucket, month)
--
-- returns {code, used, leased}, both in records
--    1 known                    -2 unknown counter
--  -10 there, but taken from the ledger in an earlier run of Redis: the last of it may be lost

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased', 'run')
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
if not usage[1] then return {-2, 0, 0} end
return {usage[3] == run and 1 or -10, tonumber(usage[1]), tonumber(usage[2])}
