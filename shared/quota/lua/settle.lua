#!lua flags=allow-oom
-- settle.lua: turns the leases of some recorded calls of one counter into usage, each exactly once. Stores their scores as
-- the latest scores of their leads. Takes the calls in order, as if each had been sent alone. Runs even when memory is full.
--
-- Both parts must happen together. Two scripts in one MULTI would not do: EXEC runs the first also when the second is
-- missing from Redis's script cache.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
-- KEYS[3] list of ended calls (see begin-recount.lua).   KEYS[4..3+N] state of each of N calls.
-- KEYS[4+N..] for each note, the hash of the latest scores under its model.
-- ARGV[1] N.   ARGV[2] lease ms.   ARGV[3] TTL of latest scores, ms.   ARGV[4] max leads of one hash.
-- ARGV[5..4+N] id of each call.
-- ARGV[5+N..] four for each note, which has the scores of some of the calls.
--    `1` the epoch of the hash without its version, read before the calls were recorded.
--    `2` JSON: index (1..N) and number of rows of each call, in turn.
--    `3` JSON: the crm_id of each row, or null.   `4` JSON: the score of each row.
--
-- Returns code, used, leased of each call, in turn, in one array; used and leased in records, after that call:
--    `1` settled.   `2` already settled (or counted when the counter was restored).
--    `-2` unknown counter: restore it, then send the call again. Nothing was changed.
--    `-5` already released: the lease had expired, and the call was not in the ledger.
--    `-6` no such lease: Redis was emptied, and the counter was restored before the call was in the ledger.
-- After `-5` and `-6` the call is not counted, and its row must be voided. In case that never happens, the counter gets a
-- recount (`recount_at`) one lease from now, when the row must be void.
--
-- With `1` and `2`, the scores of a note become the latest ones of its leads, unless a later call was settled before. Only
-- an existing hash is written to. Under another epoch, older entries of the leads are dropped instead: a lead may have been
-- erased since the call was recorded. A lead that is not stored, for this reason or because the hash is full, changes the
-- hash's version (see read-scores.lua). A look-up from before the call can then not be stored either.

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

-- The entries of a note's leads, the latest of each lead; and the crm_ids, without repetition.
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

local function store(key, call_epoch, entries, leads)
  local epoch = call('HGET', key, '')
  if not epoch or #leads == 0 then return end
  local known = call('HMGET', key, unpack(leads))
  local base, version = string.match(epoch, '^(%S+ %S+) (%d+)$')
  local is_same = base == call_epoch
  local room = is_same and ARGV[4] - call('HLEN', key) or 0
  local newer, outdated, missing = {}, {}, false
  for place, crm_id in ipairs(leads) do
    local entry = known[place]
    if is_same and entry and entry < entries[crm_id] or not entry and room > 0 then
      if not entry then room = room - 1 end
      newer[#newer + 1], newer[#newer + 2] = crm_id, entries[crm_id]
    elseif not entry or entry < entries[crm_id] then
      if entry then outdated[#outdated + 1] = crm_id end
      missing = true
    end
  end
  if #outdated > 0 then call('HDEL', key, unpack(outdated)) end
  if missing and base then call('HSET', key, '', base .. ' ' .. version + 1) end
  if #newer > 0 then
    call('HSET', key, unpack(newer))
    call('PEXPIRE', key, ARGV[3])
  end
end

for note = 1, #KEYS - 3 - calls do
  local first = 4 * note + calls + 1
  local spans, crm_ids, scores = cjson.decode(ARGV[first + 1]), cjson.decode(ARGV[first + 2]), cjson.decode(ARGV[first + 3])
  store(KEYS[3 + calls + note], ARGV[first], entries_of(spans, crm_ids, scores))
end
return reply
