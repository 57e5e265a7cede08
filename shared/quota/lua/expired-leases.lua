#!lua flags=no-writes
-- expired-leases.lua: the calls whose lease has run out, by Redis time, oldest first.
--
-- KEYS[1] leases of (organisation, bucket, month), sorted by expiry
-- ARGV[1] how many calls at most
--
-- returns an array of call ids

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
