#!lua flags=allow-oom
-- recount.lua: sets a counter that is in use to what the ledger says. Only by the holder of the counter's lock, and only
-- when nothing was settled since before the ledger was read.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry   KEYS[3] lock
-- ARGV[1] the lock's token   ARGV[2] `used` as it was before the ledger was read   ARGV[3] the ledger's sum in records
-- ARGV[4..] id and records, in turn, of the calls that are in the sum and may still hold a lease
--
-- returns {code, used, leased}, both in records, after the command
--    1 recounted: used is the sum without the calls whose lease is open (settle adds those)
--   -2 unknown counter          -8 the lock is lost          -9 the counter has moved: read everything again
-- The lock is gone after 1. `recount_at` is cleared unless it asks for a later recount.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased', 'recount_at')
if not usage[1] then return {-2, 0, 0} end
local leased = tonumber(usage[2])
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return {-8, tonumber(usage[1]), leased} end
if usage[1] ~= ARGV[2] then return {-9, tonumber(usage[1]), leased} end

local used = tonumber(ARGV[3])
for index = 4, #ARGV, 2 do
  if redis.call('ZSCORE', KEYS[2], ARGV[index]) then used = used - tonumber(ARGV[index + 1]) end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
redis.call('HSET', KEYS[1], 'used', used, 'counted_at', now, 'run', run)
if usage[3] and tonumber(usage[3]) <= now then redis.call('HDEL', KEYS[1], 'recount_at') end
redis.call('DEL', KEYS[3])
return {1, used, leased}
