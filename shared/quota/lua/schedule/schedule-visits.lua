#!lua flags=allow-oom
-- schedule-visits.lua: sets the next visit of some active counters, or takes idle ones off both lists.
--
-- KEYS[1] active counters, sorted by their last mark.   KEYS[2] active counters, sorted by their next visit.
-- ARGV three for each counter, in turn: member, Redis ms of the next visit, and the last mark of an idle counter,
-- else ''.
--
-- Returns the number of counters taken off. One that was marked again meanwhile stays.

local call = redis.call
local dropped = 0
for at = 1, #ARGV, 3 do
  local member, next_visit, mark = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if mark ~= '' and call('ZSCORE', KEYS[1], member) == mark then
    call('ZREM', KEYS[1], member)
    call('ZREM', KEYS[2], member)
    dropped = dropped + 1
  else
    call('ZADD', KEYS[2], 'XX', next_visit, member)
  end
end
return dropped
