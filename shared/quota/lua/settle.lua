#!lua flags=allow-oom
-- settle.lua: converts the leases of some recorded calls of one counter to usage, each exactly once. Takes the calls in
-- order, as if each had been sent alone. Runs even when memory is full. Comes right after note-scores.lua of the same
-- calls.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
-- KEYS[3] list of ended calls (see begin-recount.lua).   KEYS[4..] state of each call.
-- ARGV[1] lease ms.   ARGV[2..] id of each call.
--
-- Returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call:
--    `1` settled.   `2` already settled (or counted when the counter was restored).
--    `-2` unknown counter: restore it, then send the call again. Nothing was changed.
--    `-5` already released: the lease had expired, and the call was not in the ledger.
--    `-6` no such lease: Redis was emptied, and the counter was restored before the call was in the ledger.
-- After `-5` and `-6` the call is not counted, and its row must be voided. In case that never happens, the counter gets
-- a recount (`recount_at`) one lease from now, when the row must be void.

local call = redis.call
local usage = call('HMGET', KEYS[1], 'used', 'leased')
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)
local states = call('MGET', unpack(KEYS, 4))
local leases = call('ZMSCORE', KEYS[2], unpack(ARGV, 2))
local reply, size = {}, 0
local ended, settled, settled_here, lost = {}, {}, {}, false

for index = 1, #KEYS - 3 do
  local id = ARGV[1 + index]
  local kind, records = string.match(states[index] or '', '^(%a+):(%d+)$')
  local code = 1
  if not usage[1] then
    code, leased = -2, 0
  elseif kind == 'settled' or settled_here[id] then
    code = 2
  else
    if leases[index] then ended[#ended + 1] = id end
    if leases[index] and kind == 'held' then
      used, leased, settled_here[id] = used + records, leased - records, true
      settled[#settled + 1] = '+' .. records .. ' ' .. id
      call('SET', KEYS[3 + index], 'settled:' .. records, 'PX', 2 * ARGV[1])
    else
      code, lost = kind == 'released' and -5 or -6, true
    end
  end
  reply[size + 1], reply[size + 2], reply[size + 3] = code, used, leased
  size = size + 3
end

if #ended > 0 then call('ZREM', KEYS[2], unpack(ended)) end
if #settled > 0 then
  call('HSET', KEYS[1], 'used', used, 'leased', leased)
  call('RPUSHX', KEYS[3], unpack(settled))
end
if lost then
  local time = call('TIME')
  call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
end
return reply
