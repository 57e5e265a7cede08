#!lua
-- sliding-window.lua: accepts at most `rate` calls of a key in any sliding window, exactly, by Redis time.
-- Decides several calls in order, as if each had been sent alone. A refused call takes no slot. The same call
-- id within the window takes the same slot.
--
-- KEYS[1] accepted calls of the last window: call id, scored by Redis time in microseconds
-- ARGV[1] rate: calls per window, at least 1   ARGV[2] window, microseconds   ARGV[3..] id of each call
--
-- returns one array: now_ms, then accepted, remaining, retry_after_us, reset_us, accepted_at_us for each call
--
-- - now_ms: Redis time, for deadlines
-- - accepted: 1 or 0
-- - remaining: slots that are free after this call
-- - retry_after_us: 0 when accepted; else time after which a call would be accepted
-- - reset_us: time after which all slots are free
-- - accepted_at_us: the Redis time at which this call was accepted; 0 when it was refused
--
-- A slot is free when its call is older than the window: calls exactly one window apart share a window.

local call = redis.call
local calls = KEYS[1]
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local rate, window = tonumber(ARGV[1]), tonumber(ARGV[2])

-- After the clock was set back by more than a window, the stored times are useless. After less, time goes on
-- from the newest call.
local newest = tonumber(call('ZRANGE', calls, -1, -1, 'WITHSCORES')[2] or 0)
if newest > now + window then
  call('DEL', calls)
  newest = 0
elseif newest > now then
  now = newest
end

call('ZREMRANGEBYSCORE', calls, '-inf', '(' .. string.format('%.0f', now - window))
local count = call('ZCARD', calls)
local known = call('ZMSCORE', calls, unpack(ARGV, 3))
local blocking, added, accepted_here = nil, {}, {}
local reply, size = {now_ms}, 1

local function add()
  if #added == 0 then return end
  call('ZADD', calls, unpack(added))
  call('PEXPIRE', calls, math.ceil(window / 1000) + 1000)
  added = {}
end

for index = 3, #ARGV do
  local id = ARGV[index]
  local accepted_at, retry_after = accepted_here[id] or tonumber(known[index - 2] or 0), 0
  if accepted_at == 0 and count < rate then
    added[#added + 1], added[#added + 2] = now, id
    count, newest, accepted_at, accepted_here[id] = count + 1, now, now, now
  elseif accepted_at == 0 then
    -- If the rate was lowered, several of the oldest calls must expire before a slot is free. Nothing is
    -- accepted after the first refusal, so `blocking` is the same for all refused calls.
    if not blocking then
      add()
      blocking = tonumber(call('ZRANGE', calls, count - rate, count - rate, 'WITHSCORES')[2])
    end
    retry_after = math.max(blocking + window + 1 - now, 1)
  end
  reply[size + 1], reply[size + 2] = accepted_at > 0 and 1 or 0, math.max(rate - count, 0)
  reply[size + 3], reply[size + 4], reply[size + 5] = retry_after, newest + window + 1 - now, accepted_at
  size = size + 5
  now = now + 1 -- calls that are sent alone have increasing times, too
end

add()
return reply
