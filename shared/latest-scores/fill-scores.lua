#!lua
-- fill-scores.lua: notes what MongoDB says of leads that Redis did not know. A lead that has been noted meanwhile stays as
-- it is. Refused by Redis when memory is full.
--
-- KEYS[1] hash of the newest scores of a model
-- ARGV[1] the hash's generation, as it was before MongoDB was asked   ARGV[2] how many leads the hash may have
-- ARGV[3..] crm_id and entry, in turn; see read-scores.lua
--
-- returns 1, or 0 when nothing was noted: the hash has been given up meanwhile, or it is full

if redis.call('HGET', KEYS[1], '') ~= ARGV[1] then return 0 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
for index = 3, #ARGV, 2 do redis.call('HSETNX', KEYS[1], ARGV[index], ARGV[index + 1]) end
return 1
