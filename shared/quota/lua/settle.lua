#!lua flags=allow-oom
-- settle.lua: turns the leases of some calls of one counter that were recorded into usage, each exactly once. The calls are
-- taken in order, as if each had been sent by itself. Runs even when memory is full.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] leases, sorted by expiry
-- KEYS[3] calls that have ended since a recount began (see begin-recount.lua)   KEYS[4..3+N] state of each of N calls
-- KEYS[4+N..] hash of the newest scores of its model, for each note
-- ARGV[1] N   ARGV[2] lease ms   ARGV[3] ms to keep newest scores   ARGV[4] how many leads such a hash may have
-- ARGV[5..4+N] id of each call   ARGV[5+N..] of each note, which tells what some of the calls scored: the generation of the
-- newest scores as it was before they were recorded, and three arrays as JSON: of each call in turn, which one it is (1..N)
-- and how many rows it has; the crm_id of each row (null where there is none); the score of each row
--
-- returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call
--    1 settled                  2 already settled (or counted when the counter was restored)
--   -2 unknown counter: restore it, then ask again; nothing was changed
--   -5 already released: the lease had run out, and the call was not in the ledger
--   -6 no such lease: Redis was emptied, and the counter was restored before the call was in the ledger
-- With 1 and 2, what a note says are the newest scores of its leads from then on, unless a later call was settled before:
-- in a hash that is there (see shared/latest-scores/read-scores.lua). In a hash that was begun anew since, a lead may have
-- been erased after the call was recorded: that hash no longer knows the call's leads, and MongoDB is asked.
-- After -5 and -6 the call is not counted, and its row has to be taken back. Should that never happen, the counter is
-- wrong: it is marked to be taken from the ledger again (`recount_at`) one lease from now, when the row must be gone.

local call = redis.call
local calls = tonumber(ARGV[1])
local usage = call('HMGET', KEYS[1], 'used', 'leased')
local used, leased = tonumber(usage[1] or 0), tonumber(usage[2] or 0)
local states = call('MGET', unpack(KEYS, 4, 3 + calls))
local leases = call('ZMSCORE', KEYS[2], unpack(ARGV, 5, 4 + calls))
local reply, size = {}, 0
local ended, settled, settled_here, lost = {}, {}, {}, false

for index = 1, calls do
  local id = ARGV[4 + index]
  local kind, records = string.match(states[index] or '', '^(%a+):(%d+)$')
  local code = 1
  if not usage[1] then
    code, leased = -2, 0
  elseif kind == 'settled' or settled_here[id] then
    code = 2
  else
    if leases[index] then ended[#ended + 1] = id end
    if leases[index] and kind == 'held' then
      used, leased, settled_here[id] = used + records, leased - records, true
      settled[#settled + 1] = '+' .. records .. ' ' .. id
      call('SET', KEYS[3 + index], 'settled:' .. records, 'PX', 2 * ARGV[2])
    else
      code, lost = kind == 'released' and -5 or -6, true
    end
  end
  reply[size + 1], reply[size + 2], reply[size + 3] = code, used, leased
  size = size + 3
end

if #ended > 0 then call('ZREM', KEYS[2], unpack(ended)) end
if #settled > 0 then
  call('HSET', KEYS[1], 'used', used, 'leased', leased)
  call('RPUSHX', KEYS[3], unpack(settled))
end
if lost then
  local time = call('TIME')
  call('HSET', KEYS[1], 'recount_at', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
end

-- The entries of the leads that a note tells of, the latest where there are several; and their crm_ids, each once.
local function entries_of(spans, crm_ids, scores)
  local entries, leads, at = {}, {}, 0
  for span = 1, #spans, 2 do
    local index, rows = spans[span], spans[span + 1]
    for row = 1, reply[3 * index - 2] > 0 and rows or 0 do
      local crm_id = crm_ids[at + row]
      if crm_id ~= cjson.null then
        local entry = string.format('%s.%04d %d', ARGV[4 + index], row - 1, scores[at + row])
        if not entries[crm_id] then leads[#leads + 1] = crm_id end
        if not entries[crm_id] or entries[crm_id] < entry then entries[crm_id] = entry end
      end
    end
    at = at + rows
  end
  return entries, leads
end

local function keep(key, generation, entries, leads)
  local present = call('HGET', key, '')
  if not present or #leads == 0 then return end
  local known = call('HMGET', key, unpack(leads))
  local room = ARGV[4] - call('HLEN', key)
  local newer, outdated = {}, {}
  for place, crm_id in ipairs(leads) do
    local entry = known[place]
    if entry and entry < entries[crm_id] or not entry and room > 0 then
      if not entry then room = room - 1 end
      outdated[#outdated + 1] = crm_id
      newer[#newer + 1], newer[#newer + 2] = crm_id, entries[crm_id]
    end
  end
  if #outdated == 0 then return end
  if present == generation then
    call('HSET', key, unpack(newer))
    call('PEXPIRE', key, ARGV[3])
  else
    call('HDEL', key, unpack(outdated))
  end
end

for note = 1, #KEYS - 3 - calls do
  local first = 4 * note + calls + 1
  local spans, crm_ids, scores = cjson.decode(ARGV[first + 1]), cjson.decode(ARGV[first + 2]), cjson.decode(ARGV[first + 3])
  keep(KEYS[3 + calls + note], ARGV[first], entries_of(spans, crm_ids, scores))
end
return reply
