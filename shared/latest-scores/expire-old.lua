#!lua flags=allow-oom
-- expire-old.lua: of some leads, drops what was noted before an instant, and that a model has not scored them. Runs even when
-- memory is full.
--
-- KEYS[1] hash of the newest scores of a model
-- ARGV[1] the id that is smaller than all that stay   ARGV[2..] crm_ids
--
-- returns how many were dropped

local entries = redis.call('HMGET', KEYS[1], unpack(ARGV, 2))
local old = {}
for place, entry in ipairs(entries) do
  if entry and entry < ARGV[1] then old[#old + 1] = ARGV[place + 1] end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end
return #old
