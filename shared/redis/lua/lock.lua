#!lua flags=allow-oom
-- lock.lua: renews or drops a lock that its holder still has. Runs even when memory is full.
--
-- KEYS[1] lock
-- ARGV[1] the holder's token   ARGV[2] TTL from now on, ms; 0 drops the lock
--
-- returns 1 when it was renewed or dropped, 0 when it was lost before

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
