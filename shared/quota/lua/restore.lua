#!lua
-- restore.lua: gives a counter that Redis does not know the value that the ledger has for it. Called in batches, all of
-- them by the holder of the counter's lock: first the calls that the ledger counted lately, then, with the last batch,
-- the sum. A counter that is there is never touched. Since FLUSHALL also takes the lock, a sum that was read before
-- one is never restored after it.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases   KEYS[3] lock   KEYS[4..] state of each call
-- ARGV[1] the lock's token   ARGV[2] lease ms   ARGV[3] days to keep the counter, in ms
-- ARGV[4] the ledger's sum in records, or '' while more batches are to come   ARGV[5..] records of each call
--
-- returns {code, used, leased}, both in records, after the command
--    1 done: the calls are marked `settled:N` for two leases, so that a call which was in flight when Redis was emptied
--      finds itself counted; with the sum, the counter is there and the lock is gone
--    2 the counter is there already (another process restored it, or this command was sent again); nothing was changed
--   -8 the lock is lost; nothing was changed
-- A lease that outlived its counter is dropped. The restored counter is marked to be taken from the ledger once more
-- (`recount_at`) one lease from now: for a call that was recorded after the sum was read, by a gateway that then died.

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
