#!lua flags=allow-oom
-- forget-leads.lua: drops the items of some leads that are below a limit. Begins a new epoch on request, so that no
-- call from before brings them back. See read-scores.lua. Runs even when memory is full.
--
-- KEYS[1] hash of the organisation's leads.
-- ARGV[1] the limit, which items are compared with.   ARGV[2] a unique token to begin an epoch, or empty.
-- ARGV[3..] crm_ids
--
-- returns the number of leads that lost items

local run, floor = string.match(redis.call('HGET', KEYS[1], '') or '', '^(%S+) %S+ (%S*)$')
if not run then return 0 end
local dropped = 0
for index, entry in ipairs(redis.call('HMGET', KEYS[1], unpack(ARGV, 3))) do
  local kept, all = 0, entry and #entry - #entry % 36 or 0
  while kept < all and string.sub(entry, kept + 1, kept + 36) >= ARGV[1] do kept = kept + 36 end
  if kept < all then
    dropped = dropped + 1
    redis.call('HDEL', KEYS[1], ARGV[index + 2])
    local left = string.sub(entry, 1, kept) .. string.sub(entry, all + 1)
    if kept > 0 then redis.call('HSET', KEYS[1], ARGV[index + 2], left) end
  end
end
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], '', run .. ' ' .. ARGV[2] .. ' ' .. floor) end
return dropped
