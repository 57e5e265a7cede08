#!lua
-- read-scores.lua: reads the latest scores of some leads of one organisation. Begins the hash, empty, when it is
-- missing. Also when it is of an earlier run of Redis: a restart or a failover may have lost the newest entries.
-- Refused by Redis when memory is full.
--
-- KEYS[1] hash of the organisation's leads.
-- ARGV[1] a unique token.   ARGV[2] TTL of a new hash, ms.   ARGV[3] model.   ARGV[4] JSON: up to 1,000 crm_ids
--
-- returns {epoch} when the hash was just begun, else {epoch, number of the model, entries}. The number is empty when
-- the hash has no score under the model. There is one entry a crm_id, empty when unknown, separated by line feeds.
--
-- Fields of the hash:
--    ``              `<run of Redis> <token> <floor>`. Run and token are the epoch.
--    `NUL`           how many models have a number.
--    `NUL <model>`   the number of the model, three hex digits. No crm_id has a NUL.
--    `<crm_id>`      the entry of a lead: up to three items, the latest first.
--
-- An item is a lead's latest score under one model: call id (26), row (4), score (3), number of the model (3).
--
-- No item is older than the last settled call of its lead and model. The first item is the lead's latest prediction
-- under any model. A model without an item may have scored the lead too.
--
-- A dropped entry, or an item that was not stored, raises the floor to its id. A call below the floor adds no item,
-- because it may be older than what is missing. It only replaces older items of its own model. A call of another epoch
-- stores nothing. A fourth item needs no floor: the call is older than the three that stay, and its item would go
-- again.

local epoch = string.match(redis.call('HGET', KEYS[1], '') or '', '^(%S+ %S+) ')
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
if epoch and string.match(epoch, '^%S+') == run then
  local crm_ids = cjson.decode(ARGV[4])
  local entries = redis.call('HMGET', KEYS[1], '\0' .. ARGV[3], unpack(crm_ids))
  for index = 1, #crm_ids + 1 do entries[index] = entries[index] or '' end
  return {epoch, entries[1], table.concat(entries, '\n', 2)}
end
epoch = run .. ' ' .. ARGV[1]
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], '', epoch .. ' ')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {epoch}
