#!lua flags=allow-oom
-- drop-idle-counter.lua: takes a counter off the list of busy ones, unless it was noted again since its score was read.
--
-- KEYS[1] busy counters, sorted by when each was noted last
-- ARGV[1] member   ARGV[2] its score, as it was read
--
-- returns 1 when it was taken off, else 0

if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
