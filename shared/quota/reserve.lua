#!lua
-- reserve.lua: holds N records of a month's quota for one call, until settle, release or the lease's end.
-- The same call id again is the same reservation. Refused by Redis when memory is full, before anything is changed.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry   KEYS[3] state of the call
-- ARGV[1] call id   ARGV[2] records   ARGV[3] hard stop   ARGV[4] lease ms   ARGV[5] deadline, Redis ms
--
-- returns {code, used, leased}, both in records, after the command
--    1 held                     2 already held
--   -1 would cross the stop: used + leased + records > hard stop; nothing is held
--   -2 unknown counter: not in Redis yet, or lost, or taken from the ledger in an earlier run of Redis (a restart or a
--      failover may have lost the last of it); it must be taken from the ledger first
--   -3 too late: the deadline has passed; this is a command that was sent again, or one that waited too long
--   -4 the call has already ended: it was settled or released
--
-- KEYS[3] says `held:N` until the call ends (no expiry: the lease's end is the sweep's business), then `settled:N` or
-- `released:N` for two leases, longer than any command of the call can be under way.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local usage = redis.call('HMGET', KEYS[1], 'used', 'leased', 'run')
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)

if now > tonumber(ARGV[5]) then return {-3, used, leased} end
if not usage[1] or usage[3] ~= run then return {-2, 0, 0} end

local state = redis.call('GET', KEYS[3])
if state then
  if string.sub(state, 1, 5) == 'held:' then return {2, used, leased} end
  return {-4, used, leased}
end

local records = tonumber(ARGV[2])
if used + leased + records > tonumber(ARGV[3]) then return {-1, used, leased} end

redis.call('SET', KEYS[3], 'held:' .. ARGV[2])
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[4]), ARGV[1])
return {1, used, redis.call('HINCRBY', KEYS[1], 'leased', ARGV[2])}
