#!lua
-- reserve.lua: holds records of a month's quota for some calls of one counter, until settle, release or the lease's
-- end. Takes the calls in order, as if each had been sent alone. A call that does not fit is refused; a smaller one
-- after it may be held. The same call id again is the same reservation, also within one script call. Refused by Redis
-- when memory is full, before anything is changed.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
-- KEYS[3..] state of each call.
-- ARGV[1] lease ms.   ARGV[2..] for each call, in turn: id, records, hard stop, deadline in Redis ms.
--
-- Returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call:
--    `1` held.   `2` already held.
--    `-1` would cross the stop: used + leased + records > hard stop. No records are held.
--    `-2` unknown counter: it must be set from the ledger first. It is missing, or was set in an earlier run of Redis
--       (a restart or a failover may have lost the newest writes).
--    `-3` too late: the deadline has passed, because the command was sent again or waited too long.
--    `-4` the call has ended already: it was settled or released.
--
-- KEYS[3..] are `held:N` until the call ends, without a TTL: the sweep ends leases. Then they are `settled:N` or
-- `released:N` for two leases, longer than any command of the call can be in flight.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local usage = call('HMGET', KEYS[1], 'used', 'leased', 'run')
local run = string.match(call('INFO', 'server'), 'run_id:(%w+)') or ''
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)
local known = usage[1] and usage[3] == run
local states = known and call('MGET', unpack(KEYS, 3)) or {}
local held, leases, held_here = 0, {}, {}
local expires_at = now + ARGV[1]
local reply, size, at = {}, 0, 2

for index = 3, #KEYS do
  local id, records, stop, deadline = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local state = held_here[id] and 'held:' or states[index - 2]
  local code = 1
  if now > deadline then
    code = -3
  elseif not known then
    code = -2
  elseif state then
    code = string.sub(state, 1, 5) == 'held:' and 2 or -4
  elseif used + leased + records > stop then
    code = -1
  else
    call('SET', KEYS[index], 'held:' .. records)
    leased, held, held_here[id] = leased + records, held + records, true
    leases[#leases + 1], leases[#leases + 2] = expires_at, id
  end
  reply[size + 1], reply[size + 2], reply[size + 3] = code, code == -2 and 0 or used, code == -2 and 0 or leased
  size, at = size + 3, at + 4
end

if #leases > 0 then
  call('ZADD', KEYS[2], unpack(leases))
  call('HINCRBY', KEYS[1], 'leased', held)
end
return reply
