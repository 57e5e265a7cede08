#!lua flags=allow-oom
-- settle.lua: turns the leases of some calls of one counter that were recorded into usage, each exactly once. The calls are
-- taken in order, as if each had been sent by itself. Runs even when memory is full.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry
-- KEYS[3..2+N] state of each of N calls; further keys would follow
-- ARGV[1] N   ARGV[2] lease ms   ARGV[3..2+N] id of each call; further arguments would follow
--
-- returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call
--    1 settled                  2 already settled (or counted when the counter was restored)
--   -2 unknown counter: restore it, then ask again; nothing was changed
--   -5 already released: the lease had run out, and the call was not in the ledger
--   -6 no such lease: Redis was emptied, and the counter was restored before the call was in the ledger
-- After -5 and -6 the call is not counted, and its row has to be taken back. Should that never happen, the counter is
-- wrong: it is marked to be taken from the ledger again (`recount_at`) one lease from now, when the row must be gone.

local call = redis.call
local usage = call('HMGET', KEYS[1], 'used', 'leased')
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)
local reply, size = {}, 0
local counted, lost = false, false

for index = 3, 2 + ARGV[1] do
  local kind, records = string.match(call('GET', KEYS[index]) or '', '^(%a+):(%d+)$')
  local code = 1
  if not usage[1] then
    code, leased = -2, 0
  elseif kind == 'settled' then
    code = 2
  elseif call('ZREM', KEYS[2], ARGV[index]) == 1 and kind == 'held' then
    used, leased, counted = used + records, leased - records, true
    call('SET', KEYS[index], 'settled:' .. records, 'PX', 2 * ARGV[2])
  else
    code, lost = kind == 'released' and -5 or -6, true
  end
  reply[size + 1], reply[size + 2], reply[size + 3] = code, used, leased
  size = size + 3
end

if counted then call('HSET', KEYS[1], 'used', used, 'leased', leased) end
if lost then
  local time = call('TIME')
  call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
end
return reply
