#!lua flags=allow-oom
-- expire-old.lua: drops the entries of some leads that are older than a limit; entries without a score count as old.
-- Runs even when memory is full.
--
-- KEYS[1] hash of the latest scores under a model
-- ARGV[1] the smallest id that stays   ARGV[2..] crm_ids
--
-- returns the number of dropped entries

local entries = redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
local old = {}
for place, entry in ipairs(entries) do
  if entry and entry < ARGV[1] then old[#old + 1] = ARGV[place + 1] end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end
return #old
