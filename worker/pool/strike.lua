#!lua flags=allow-oom
-- strike.lua: counts a death of a worker process against the version of a model that it was running.
--
-- KEYS[1] hash of what is known against versions: `<count>@<Unix ms of the last>` by `<model>:<version>`
-- ARGV[1] `<model>:<version>`   ARGV[2] now, Unix ms   ARGV[3] deaths further apart than this are accidents, ms
-- ARGV[4] how long the hash is kept after the last, ms
--
-- returns the count

local count, last = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+)@(%d+)$')
local next = 1
if count and ARGV[2] - last < tonumber(ARGV[3]) then next = count + 1 end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d@%s', next, ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return next
