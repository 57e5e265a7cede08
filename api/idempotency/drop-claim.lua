#!lua flags=allow-oom
-- drop-claim.lua: ends a call's claim on an Idempotency-Key, if it is still that call's own.
--
-- KEYS[1] claim
-- ARGV[1] call id
--
-- returns 1 when it was ended, 0 when it had run out or is another call's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
