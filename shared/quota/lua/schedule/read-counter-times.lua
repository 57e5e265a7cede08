#!lua flags=no-writes
-- read-counter-times.lua: reads when a counter needs the sweep.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
--
-- Returns four Redis ms: now, the earliest expiry of a lease, `counted_at` and `recount_at` of the counter. A missing
-- one is -1.

local time = redis.call('TIME')
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local usage = redis.call('HMGET', KEYS[1], 'counted_at', 'recount_at')
return {
  time[1] * 1000 + math.floor(time[2] / 1000),
  tonumber(first[2] or -1), tonumber(usage[1] or -1), tonumber(usage[2] or -1),
}
