#!lua
-- fill-scores.lua: stores the result of a look-up in MongoDB for leads that Redis did not know. An existing entry stays.
-- Refused by Redis when memory is full.
--
-- KEYS[1] hash of the latest scores under a model.
-- ARGV[1] the hash's epoch, read before the look-up.   ARGV[2] max leads of the hash.
-- ARGV[3..] crm_id and entry, in turn; see read-scores.lua
--
-- returns 1, or 0 when nothing was stored: the epoch has changed, so that the look-up may be outdated, or the hash is full

if redis.call('HGET', KEYS[1], '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
for index = 3, #ARGV, 2 do redis.call('HSETNX', KEYS[1], ARGV[index], ARGV[index + 1]) end
return 1
