#!lua flags=allow-oom
-- settle.lua: turns the lease of a call that was recorded into usage, exactly once. Runs even when memory is full.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry   KEYS[3] state of the call
-- ARGV[1] call id   ARGV[2] lease ms
--
-- returns {code, used, leased}, both in records, after the command
--    1 settled                  2 already settled (or counted when the counter was restored)
--   -2 unknown counter: restore it, then ask again; nothing was changed
--   -5 already released: the lease had run out, and the call was not in the ledger
--   -6 no such lease: Redis was emptied, and the counter was restored before the call was in the ledger
-- After -5 and -6 the call is not counted, and its row has to be taken back. Should that never happen, the counter is
-- wrong: it is marked to be taken from the ledger again (`recount_at`) one lease from now, when the row must be gone.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased')
if not usage[1] then return {-2, 0, 0} end
local used, leased = tonumber(usage[1]), tonumber(usage[2])

local kind, records = string.match(redis.call('GET', KEYS[3]) or '', '^(%a+):(%d+)$')
if kind == 'settled' then return {2, used, leased} end

local open = redis.call('ZREM', KEYS[2], ARGV[1]) == 1
if kind == 'held' and open then
  used = redis.call('HINCRBY', KEYS[1], 'used', records)
  leased = redis.call('HINCRBY', KEYS[1], 'leased', -records)
  redis.call('SET', KEYS[3], 'settled:' .. records, 'PX', 2 * ARGV[2])
  return {1, used, leased}
end

local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
return {kind == 'released' and -5 or -6, used, leased}
