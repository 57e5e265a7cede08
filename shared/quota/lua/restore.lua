#!lua
-- restore.lua: sets a counter that Redis does not know from the ledger. The holder of the counter's lock calls it in
-- batches: first the recent calls of the ledger, then, with the last batch, the sum. An existing counter is never
-- changed. FLUSHALL also takes the lock, so a sum that was read before it is never restored after it.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases.   KEYS[3] lock.
-- KEYS[4..] state of each call.
-- ARGV[1] the lock's token.   ARGV[2] lease ms.   ARGV[3] TTL of the counter, ms.
-- ARGV[4] the ledger's sum in records, or '' while more batches follow.   ARGV[5..] records of each call.
--
-- Returns {code, used, leased}, both in records, after the script:
--    `1` done. The calls are `settled:N` for two leases: one that was in flight when Redis was emptied finds itself
--       counted. With the sum, the counter is set and the lock dropped.
--    `2` the counter exists already (another process restored it, or this command was sent again). Nothing was changed.
--    `-8` the lock is lost. Nothing was changed.
-- Leases that outlived their counter are dropped. The counter gets a recount (`recount_at`) one lease from now: a
-- gateway may have recorded a call after the sum was read, and died.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased')
if usage[1] then return {2, tonumber(usage[1]), tonumber(usage[2])} end
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return {-8, 0, 0} end

for index = 4, #KEYS do
  redis.call('SET', KEYS[index], 'settled:' .. ARGV[index + 1], 'PX', 2 * ARGV[2])
end
if ARGV[4] == '' then return {1, 0, 0} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('DEL', KEYS[2])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
redis.call('HSET', KEYS[1], 'used', ARGV[4], 'leased', 0, 'counted_at', now, 'recount_at', now + ARGV[2], 'run', run)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('DEL', KEYS[3])
return {1, tonumber(ARGV[4]), 0}
