#!lua flags=allow-oom
-- forget-lead.lua: drops an erased lead's entries of calls up to the erasure. The hashes get a new epoch, so that neither
-- a look-up nor a call from before the erasure brings the lead back. Runs even when memory is full.
--
-- KEYS[1..] hash of the latest scores under each of the organisation's models.
-- ARGV[1] a unique token.   ARGV[2] crm_id.
-- ARGV[3] an entry without a score, which sorts after those of all calls up to the erasure: an id and a space
--
-- returns the number of keys

for _, key in ipairs(KEYS) do
  local epoch = redis.call('HGET', key, '')
  if epoch then
    local entry = redis.call('HGET', key, ARGV[2])
    if entry and entry <= ARGV[3] then redis.call('HDEL', key, ARGV[2]) end
    redis.call('HSET', key, '', string.match(epoch, '^%S*') .. ' ' .. ARGV[1] .. ' 0')
  end
end
return #KEYS
