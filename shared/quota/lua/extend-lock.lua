#!lua flags=allow-oom
-- extend-lock.lua: lets the holder of a lock keep it for longer.
--
-- KEYS[1] lock
-- ARGV[1] the holder's token   ARGV[2] ms from now
--
-- returns 1 when the lock is still held by this token, else 0

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
