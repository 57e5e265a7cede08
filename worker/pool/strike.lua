#!lua flags=allow-oom
-- strike.lua: counts a death of a worker process against the version whose chunk it worked on. The second death within
-- the window quarantines the version.
--
-- KEYS[1] hash of strikes: `<count>@<Unix ms of the last>@<Unix ms of the quarantine's end>` by `<model>:<version>`
-- ARGV[1] `<model>:<version>`   ARGV[2] now, Unix ms   ARGV[3] age from which a strike no longer counts, ms
-- ARGV[4] duration of a quarantine, and the hash's TTL, ms
--
-- returns the count

local count, last = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+)@(%d+)')
local next, quarantine = 1, 0
if count and ARGV[2] - last < tonumber(ARGV[3]) then next, quarantine = count + 1, ARGV[4] end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d@%s@%.0f', next, ARGV[2], ARGV[2] + quarantine))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return next
