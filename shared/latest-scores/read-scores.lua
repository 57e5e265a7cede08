#!lua
-- read-scores.lua: reads the latest scores of some leads under some models of one organisation. Begins a hash, empty, when
-- it is missing, from an earlier run of Redis, or of an earlier release. A restart or a failover may have lost the newest
-- entries of an earlier run. Refused by Redis when memory is full.
--
-- KEYS[1..] hash of the latest scores under each model.
-- ARGV[1] a unique token.   ARGV[2] TTL of a new hash, ms   ARGV[3] JSON: up to 1,000 crm_ids
--
-- returns for each key {epoch} when the hash was just begun, else {epoch, entries}: one entry a crm_id, separated by line
-- feeds. An entry is
--   <id of the prediction> <score>
--   -                               the model has not scored the lead
--   ?                               Redis does not know
-- The epoch is `<run of Redis> <token> <version>`. Run and token change when entries may be missing or must not come back;
-- calls from before then do not write to the hash. The version changes when a call was settled that could not write to it;
-- look-ups in MongoDB from before then do not either.

local crm_ids = cjson.decode(ARGV[3])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local found = {}
for index, key in ipairs(KEYS) do
  local epoch = redis.call('HGET', key, '')
  if epoch and string.match(epoch, '^(%S+) %S+ %d+$') == run then
    local entries = redis.call('HMGET', key, unpack(crm_ids))
    for place = 1, #crm_ids do entries[place] = entries[place] or '?' end
    found[index] = {epoch, table.concat(entries, '\n')}
  else
    epoch = run .. ' ' .. ARGV[1] .. ' 0'
    redis.call('UNLINK', key)
    redis.call('HSET', key, '', epoch)
    redis.call('PEXPIRE', key, ARGV[2])
    found[index] = {epoch}
  end
end
return found
