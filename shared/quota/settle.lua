#!lua flags=allow-oom
-- settle.lua: turns the leases of some calls of one counter that were recorded into usage, each exactly once. The calls are
-- taken in order, as if each had been sent by itself. Runs even when memory is full.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry
-- KEYS[3..2+N] state of each of N calls   KEYS[3+N..] hash of the newest scores of its model, for each note
-- ARGV[1] N   ARGV[2] lease ms   ARGV[3] ms to keep newest scores   ARGV[4] how many leads such a hash may have
-- ARGV[5..4+N] id of each call   ARGV[5+N..] of each note: which call it is of (1..N), the generation of the newest scores
-- as it was before the call was recorded, JSON of the crm_ids of its rows (null where there is none), JSON of their scores
--
-- returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call
--    1 settled                  2 already settled (or counted when the counter was restored)
--   -2 unknown counter: restore it, then ask again; nothing was changed
--   -5 already released: the lease had run out, and the call was not in the ledger
--   -6 no such lease: Redis was emptied, and the counter was restored before the call was in the ledger
-- With 1 and 2, what a note says are the newest scores of its leads from then on, unless a later call was settled before:
-- in a hash that is there (see shared/newest-scores/read-newest.lua). In a hash that was begun anew since, a lead may have
-- been erased after the call was recorded: that hash no longer knows the call's leads, and MongoDB is asked.
-- After -5 and -6 the call is not counted, and its row has to be taken back. Should that never happen, the counter is
-- wrong: it is marked to be taken from the ledger again (`recount_at`) one lease from now, when the row must be gone.

local call = redis.call
local calls = tonumber(ARGV[1])
local usage = call('HMGET', KEYS[1], 'used', 'leased')
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)
local reply, size = {}, 0
local counted, lost = false, false

for index = 1, calls do
  local state = KEYS[2 + index]
  local kind, records = string.match(call('GET', state) or '', '^(%a+):(%d+)$')
  local code = 1
  if not usage[1] then
    code, leased = -2, 0
  elseif kind == 'settled' then
    code = 2
  elseif call('ZREM', KEYS[2], ARGV[4 + index]) == 1 and kind == 'held' then
    used, leased, counted = used + records, leased - records, true
    call('SET', state, 'settled:' .. records, 'PX', 2 * ARGV[2])
  else
    code, lost = kind == 'released' and -5 or -6, true
  end
  reply[size + 1], reply[size + 2], reply[size + 3] = code, used, leased
  size = size + 3
end

if counted then call('HSET', KEYS[1], 'used', used, 'leased', leased) end
if lost then
  local time = call('TIME')
  call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
end

local function keep(key, call_id, generation, crm_ids, scores)
  local present = call('HGET', key, '')
  if not present then return end
  local leads, entries, count = {}, {}, 0
  for row, crm_id in ipairs(crm_ids) do
    if crm_id ~= cjson.null then
      count = count + 1
      leads[count], entries[count] = crm_id, string.format('%s.%04d %d', call_id, row - 1, scores[row])
    end
  end
  if count == 0 then return end
  local known = call('HMGET', key, unpack(leads))
  local is_full = call('HLEN', key) >= tonumber(ARGV[4])
  local newer, outdated, changed = {}, {}, 0
  for index = 1, count do
    local entry = known[index]
    if entry and entry < entries[index] or not entry and not is_full then
      changed = changed + 1
      outdated[changed] = leads[index]
      newer[2 * changed - 1], newer[2 * changed] = leads[index], entries[index]
    end
  end
  if changed == 0 then return end
  if present == generation then
    call('HSET', key, unpack(newer))
    call('PEXPIRE', key, ARGV[3])
  else
    call('HDEL', key, unpack(outdated))
  end
end

for note = 1, #KEYS - 2 - calls do
  local first = 4 * note + calls + 1
  local index = tonumber(ARGV[first])
  if reply[3 * index - 2] > 0 then
    local crm_ids, scores = cjson.decode(ARGV[first + 2]), cjson.decode(ARGV[first + 3])
    keep(KEYS[2 + calls + note], ARGV[4 + index], ARGV[first + 1], crm_ids, scores)
  end
end
return reply
