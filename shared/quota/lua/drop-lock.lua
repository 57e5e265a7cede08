#!lua flags=allow-oom
-- drop-lock.lua: drops a lock that its holder still has.
--
-- KEYS[1] lock
-- ARGV[1] the holder's token
--
-- returns 1 when it was dropped, 0 when it was lost before

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
