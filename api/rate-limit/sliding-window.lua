#!lua
-- sliding-window.lua: accepts at most `rate` calls of a key in any sliding window, exactly, by Redis time.
-- A call that is refused uses no slot. The same call id again, within the window, is the same slot.
--
-- KEYS[1] accepted calls of the last window: call id, scored by Redis time in microseconds
-- ARGV[1] call id   ARGV[2] rate: calls per window, at least 1   ARGV[3] window, microseconds
--
-- returns {accepted, remaining, retry_after_us, reset_us, accepted_at_us, now_ms}
--   accepted        1 or 0
--   remaining       slots that are free after this call
--   retry_after_us  0 when accepted; else after how long one call would pass
--   reset_us        after how long every slot would be free
--   accepted_at_us  the Redis time at which this call was accepted; 0 when it was refused
--   now_ms          Redis time, for deadlines
--
-- Two calls that are exactly one window apart are in the same window: a slot is free when its call is older than that.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_ms = math.floor(now / 1000)
local rate, window = tonumber(ARGV[2]), tonumber(ARGV[3])

-- The machine's clock may have been set back. By a little, the newest call's time is now; by more than a window, the
-- recorded times say nothing any more.
local newest = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or 0)
if newest > now + window then
  redis.call('DEL', KEYS[1])
  newest = 0
elseif newest > now then
  now = newest
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. string.format('%.0f', now - window))
local count = redis.call('ZCARD', KEYS[1])
local accepted_at = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)

if accepted_at == 0 and count < rate then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000) + 1000)
  count, newest, accepted_at = count + 1, now, now
end

local reset = newest + window + 1 - now
if accepted_at > 0 then return {1, math.max(rate - count, 0), 0, reset, accepted_at, now_ms} end

-- The rate may have been lowered since: so many of the oldest must go that one slot is free.
local blocking = tonumber(redis.call('ZRANGE', KEYS[1], count - rate, count - rate, 'WITHSCORES')[2])
return {0, 0, blocking + window + 1 - now, reset, 0, now_ms}
