#!lua flags=allow-oom
-- release.lua: releases the records held by a call that was not recorded. Runs even when memory is full.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
-- KEYS[3] list of ended calls (see begin-recount.lua).   KEYS[4] state of the call.
-- ARGV[1] call id.   ARGV[2] lease ms.   ARGV[3] 1 when the call might still be recorded, else 0.
--
-- Returns {code, used, leased}, both in records, after the script:
--    `1` released.   `2` already released.
--    `-6` no such lease: nothing to release. A reserve of this call that arrives later finds the call ended.
--    `-7` already settled: it stays counted.
-- The counter gets a recount (`recount_at`) one lease from now in two cases. After `-7`: the caller takes the call for
-- not recorded. When the call might still be recorded: it would then not be counted.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased')
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)

local function recount_later()
  if not usage[1] then return end
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
end

local kind, records = string.match(redis.call('GET', KEYS[4]) or '', '^(%a+):(%d+)$')
if kind == 'released' then return {2, used, leased} end
if kind == 'settled' then
  recount_later()
  return {-7, used, leased}
end

if ARGV[3] == '1' then recount_later() end
local open = redis.call('ZREM', KEYS[2], ARGV[1]) == 1
redis.call('SET', KEYS[4], 'released:' .. (records or '0'), 'PX', 2 * ARGV[2])
if kind == 'held' and open and usage[1] then
  redis.call('RPUSHX', KEYS[3], '-' .. records .. ' ' .. ARGV[1])
  return {1, used, redis.call('HINCRBY', KEYS[1], 'leased', -records)}
end
return {-6, used, leased}
