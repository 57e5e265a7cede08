#!lua
-- read-scores.lua: what Redis knows of the newest score of some leads, under some models of one organisation. A hash that
-- is not there, or that an earlier run of Redis has left (a restart or a failover may have lost the last of it), is begun
-- anew. Refused by Redis when memory is full.
--
-- KEYS[1..] hash of the newest scores of each model
-- ARGV[1] a token that no other call has   ARGV[2] ms to keep a new hash   ARGV[3] JSON: crm_ids, a thousand at most
--
-- returns for each key {generation} when the hash has just been begun, else {generation, entries}: the generation is for
-- fill-newest; of each crm_id there is one entry, with a line feed between them. An entry is
--   <id of the prediction> <score>
--   -                               the model has not scored the lead
--   <id>, a space and no score      the lead was erased; see erase-lead.lua
--   ?                               Redis does not know

local crm_ids = cjson.decode(ARGV[3])
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local found = {}
for index, key in ipairs(KEYS) do
  local generation = redis.call('HGET', key, '')
  if generation and string.sub(generation, 1, #run) == run then
    local entries = redis.call('HMGET', key, unpack(crm_ids))
    for place = 1, #crm_ids do entries[place] = entries[place] or '?' end
    found[index] = {generation, table.concat(entries, '\n')}
  else
    generation = run .. ' ' .. ARGV[1]
    redis.call('UNLINK', key)
    redis.call('HSET', key, '', generation)
    redis.call('PEXPIRE', key, ARGV[2])
    found[index] = {generation}
  end
end
return found
