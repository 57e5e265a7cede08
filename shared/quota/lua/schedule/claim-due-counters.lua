#!lua flags=allow-oom
-- claim-due-counters.lua: claims active counters whose next visit is due, the longest overdue first. Concurrent sweeps
-- claim different ones. When a sweep dies, its counters are due again at the end of the claim.
--
-- KEYS[1] active counters, sorted by their last mark.   KEYS[2] active counters, sorted by their next visit.
-- ARGV[1] Redis ms up to which a visit is due.   ARGV[2] length of the claim, ms.   ARGV[3] max number of counters.
-- ARGV[4] 1 to begin with the counters of KEYS[1] that are missing in KEYS[2]: gateways write to KEYS[1] alone.
--
-- Returns member and last mark of each counter, in turn, both as strings. A counter without a mark, which a failover
-- may have lost, is marked now.

local call = redis.call
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[4] == '1' then
  for _, member in ipairs(call('ZDIFF', 2, KEYS[1], KEYS[2])) do call('ZADD', KEYS[2], 0, member) end
end
local reply = {}
for _, member in ipairs(call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])) do
  call('ZADD', KEYS[2], now + ARGV[2], member)
  call('ZADD', KEYS[1], 'NX', now, member)
  reply[#reply + 1], reply[#reply + 2] = member, call('ZSCORE', KEYS[1], member)
end
return reply
