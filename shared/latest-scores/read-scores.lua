#!lua
-- read-scores.lua: reads the latest scores of some leads of one organisation. Begins the hash, empty, when it is
-- missing. Also when it is of an earlier run of Redis: a restart or a failover may have lost the newest entries.
-- Refused by Redis when memory is full.
--
-- KEYS[1] hash of the organisation's leads.
-- ARGV[1] a unique token.   ARGV[2] TTL of a new hash, ms.   ARGV[3] model.   ARGV[4] its version.
-- ARGV[5] JSON: up to 1,000 crm_ids
--
-- returns {epoch} when the hash was just begun, else {epoch, entries, number of the model, number of the version}. The
-- numbers are empty when the hash has no score under the model, and no gaps under the version. There is one entry a
-- crm_id, empty when unknown, separated by line feeds.
--
-- Fields of the hash:
--    ``              `<run of Redis> <token> <floor>`. Run and token are the epoch.
--    `NUL`           how many models have a number.
--    `NUL <model>`   the number of the model, three hex digits. No crm_id has a NUL.
--    `NUL NUL`       how many versions have a number.
--    `NUL <model> NUL <version>`   the number of the version, three hex digits.
--    `<crm_id>`      the entry of a lead: up to three items, the latest first. A tail may follow.
--
-- An item is a lead's latest score under one model: call id (26), row (4), score (3), number of the model (3).
--
-- A tail has the slots without a value in the recorded row of the first item: `!`, the last 11 characters of the call
-- id, row (4), number of the version (3), and the slots as bits (5, base 32). It is there only if there are such slots.
-- Recorded rows do not change, so a tail never becomes wrong. It counts only if it names the row of the first item:
-- a process that knows no tails may have put another item before it. Such a process reads and writes the items of this
-- hash as before. It takes a tail for nothing: `!` sorts below every item, and no number follows in its 24 characters.
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
  local crm_ids = cjson.decode(ARGV[5])
  local model = '\0' .. ARGV[3]
  local found = redis.call('HMGET', KEYS[1], model, model .. '\0' .. ARGV[4], unpack(crm_ids))
  for index = 1, #crm_ids + 2 do found[index] = found[index] or '' end
  return {epoch, table.concat(found, '\n', 3), found[1], found[2]}
end
epoch = run .. ' ' .. ARGV[1]
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], '', epoch .. ' ')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {epoch}
