#!lua flags=allow-oom
-- drop-idle-counter.lua: takes a counter off the list of active ones, unless it was marked again since its score was read.
--
-- KEYS[1] active counters, sorted by the time of their last mark
-- ARGV[1] member   ARGV[2] the score that was read
--
-- returns 1 when it was taken off, else 0

if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
