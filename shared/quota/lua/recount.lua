#!lua flags=allow-oom
-- recount.lua: sets a counter in use from the ledger. Only for the holder of the counter's lock, after
-- begin-recount.lua. The holder has then read the ledger, the leases and the list of ended calls, in this order.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.   KEYS[3] lock.
-- KEYS[4] list of calls that ended since the recount began.
-- ARGV[1] the lock's token.   ARGV[2] the ledger's sum in records, corrected by the entries that were read.
-- ARGV[3] number of entries of KEYS[4] that were read.   ARGV[4] records that these entries settled.
-- ARGV[5..] id and records, in turn, of the calls that are in the sum and had a lease.
--
-- Returns {code, used, leased}, both in records, after the script:
--    `1` recounted.   `-2` unknown counter.   `-8` the lock is lost.
--    `-9` the list of ended calls is missing or incomplete, or Redis was restarted since: begin again.
-- After `1`, `used` is the sum without the calls that have an open lease, which settle.lua will add. Calls that were
-- settled since KEYS[4] was read are added unless they are in the sum. Calls that were released since are subtracted if
-- they are in it. The lock is dropped, and `recount_at` is cleared unless it is in the future.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased', 'recount_at')
if not usage[1] then return {-2, 0, 0} end
local leased = tonumber(usage[2])
if redis.call('GET', KEYS[3]) ~= ARGV[1] then return {-8, tonumber(usage[1]), leased} end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local begun = redis.call('LINDEX', KEYS[4], 0) or ''
local as_begun = ARGV[1] .. ' ' .. run .. ' '
local used_before = string.sub(begun, 1, #as_begun) == as_begun and tonumber(string.sub(begun, #as_begun + 1))
if not used_before then return {-9, tonumber(usage[1]), leased} end

local used, settled, in_sum = tonumber(ARGV[2]), tonumber(ARGV[4]), {}
for index = 5, #ARGV, 2 do
  local id, records = ARGV[index], tonumber(ARGV[index + 1])
  in_sum[id] = true
  if redis.call('ZSCORE', KEYS[2], id) then used = used - records end
end
for _, entry in ipairs(redis.call('LRANGE', KEYS[4], ARGV[3], -1)) do
  local sign, records, id = string.match(entry, '^([+-])(%d+) (.*)$')
  if sign == '+' then settled = settled + records end
  if sign == '+' and not in_sum[id] then used = used + records end
  if sign == '-' and in_sum[id] then used = used - records end
end

if tonumber(usage[1]) ~= used_before + settled then return {-9, tonumber(usage[1]), leased} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'used', used, 'counted_at', now, 'run', run)
if usage[3] and tonumber(usage[3]) <= now then redis.call('HDEL', KEYS[1], 'recount_at') end
redis.call('DEL', KEYS[3], KEYS[4])
return {1, used, leased}
