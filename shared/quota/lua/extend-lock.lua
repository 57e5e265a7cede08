#!lua flags=allow-oom
-- extend-lock.lua: renews a lock that its holder still has.
--
-- KEYS[1] lock
-- ARGV[1] the holder's token   ARGV[2] TTL, ms
--
-- returns 1 when it was renewed, 0 when it was lost before

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
