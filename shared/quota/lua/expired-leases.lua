#!lua flags=no-writes
-- expired-leases.lua: lists the calls whose lease has expired, by Redis time, oldest first.
--
-- KEYS[1] leases of (organisation, bucket, month), sorted by expiry
-- ARGV[1] max number of calls
--
-- returns an array of call ids

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
