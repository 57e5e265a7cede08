#!lua flags=allow-oom
-- forget-lead.lua: drops what calls before an instant have left of one lead, the mark of its erasure too (erase-lead.lua).
-- The hashes get another generation, so that neither a look-up nor a call from before brings it back. Runs even when memory
-- is full.
--
-- KEYS[1..] hash of the newest scores of each of the organisation's models
-- ARGV[1] a token that no other call has   ARGV[2] crm_id
-- ARGV[3] an entry without a score, which comes after those of all earlier calls: an id and a space
--
-- returns the number of keys

for _, key in ipairs(KEYS) do
  local generation = redis.call('HGET', key, '')
  if generation then
    local entry = redis.call('HGET', key, ARGV[2])
    if entry and entry <= ARGV[3] then redis.call('HDEL', key, ARGV[2]) end
    redis.call('HSET', key, '', string.match(generation, '^%S*') .. ' ' .. ARGV[1])
  end
end
return #KEYS
