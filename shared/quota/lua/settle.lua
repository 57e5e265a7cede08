#!lua flags=allow-oom
-- settle.lua: turns the leases of some recorded calls of one counter into usage, each exactly once. Stores their scores as
-- the latest scores of their leads. Takes the calls in order, as if each had been sent alone. Runs even when memory is full.
--
-- Both parts must happen together. Two scripts in one MULTI would not do: EXEC runs the first also when the second is
-- missing from Redis's script cache.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] leases, sorted by expiry.
-- KEYS[3] list of ended calls (see begin-recount.lua).   KEYS[4..3+N] state of each of N calls.
-- KEYS[4+N] hash of the organisation's leads; only for notes.
-- ARGV[1] N.   ARGV[2] lease ms.   ARGV[3] TTL of latest scores, ms.   ARGV[4] max fields of the hash.
-- ARGV[5..4+N] id of each call.
-- ARGV[5+N..] five for each note, which has the scores of some of the calls under one model.
--    `1` the epoch of the hash, read before the calls were recorded.   `2` the model.
--    `3` JSON: index (1..N) and number of rows of each call, in turn.
--    `4` JSON: the crm_id of each row, or null.   `5` JSON: the score of each row.
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
-- an existing hash is written to. read-scores.lua says when a score may be stored; else an entry that lacks it is dropped.
-- A full hash loses the oldest of some random entries.

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

local sub = string.sub

-- The latest item of each of a note's leads, and the crm_ids without repetition.
local function items_of(number, spans, crm_ids, scores)
  local items, leads, at = {}, {}, 0
  for span = 1, #spans, 2 do
    local index, rows = spans[span], spans[span + 1]
    for row = 1, reply[3 * index - 2] > 0 and rows or 0 do
      local crm_id = crm_ids[at + row]
      if crm_id ~= cjson.null then
        local item, other = string.format('%s%04d%03d%s', ARGV[4 + index], row - 1, scores[at + row], number), items[crm_id]
        if not other then leads[#leads + 1] = crm_id end
        if not other or other < item then items[crm_id] = item end
      end
    end
    at = at + rows
  end
  return items, leads
end

-- The items of an entry without that of a model, and the latter.
local function parted(entry, number)
  for at = 1, #entry, 36 do
    if sub(entry, at + 33, at + 35) == number then
      return sub(entry, 1, at - 1) .. sub(entry, at + 36), sub(entry, at, at + 35)
    end
  end
  return entry
end

local function with_item(entry, item)
  local at = 1
  while at < #entry and sub(entry, at, at + 35) > item do at = at + 36 end
  return sub(entry, 1, at - 1) .. item .. sub(entry, at)
end

-- Drops the oldest of three times as many random entries. Returns the latest id among them, or the floor.
local function make_room(key, count, floor)
  local names, oldest = call('HRANDFIELD', key, 3 * count), {}
  for place, entry in ipairs(call('HMGET', key, unpack(names))) do
    if #entry % 36 == 0 and names[place] ~= '' then oldest[#oldest + 1] = sub(entry, 1, 30) .. names[place] end
  end
  table.sort(oldest)
  for place = 1, math.min(count, #oldest) do
    call('HDEL', key, sub(oldest[place], 31))
    if oldest[place] > floor then floor = sub(oldest[place], 1, 30) end
  end
  return floor
end

local function store(key, call_epoch, model, ...)
  local head = call('HMGET', key, '', '\0' .. model)
  local epoch, floor = string.match(head[1] or '', '^(%S+ %S+) (%S*)$')
  if not epoch then return end
  local is_same, number = epoch == call_epoch, head[2]
  if is_same and not number then
    number = string.format('%03x', call('HINCRBY', key, '\0', 1))
    if #number > 3 then return call('UNLINK', key) end
    call('HSET', key, '\0' .. model, number)
  end
  local items, leads = items_of(number or '', ...)
  if #leads == 0 then return end
  local known = call('HMGET', key, unpack(leads))
  local stored, cells, dropped, added, raised = {}, 0, {}, 0, floor
  for place, crm_id in ipairs(leads) do
    local entry = known[place] or ''
    local item = items[crm_id]
    local others, own = '', nil
    if entry ~= '' then others, own = parted(entry, number) end
    local is_older = own and own >= item
    if not is_older and is_same and (own or item > floor) then
      cells = cells + 2
      stored[cells - 1], stored[cells] = crm_id, others == '' and item or sub(with_item(others, item), 1, 108)
      if entry == '' then added = added + 1 end
    elseif not is_older then
      if own or entry ~= '' and entry < item then dropped[#dropped + 1] = crm_id end
      for _, lost in ipairs({item, own and entry}) do
        if lost > raised then raised = sub(lost, 1, 30) end
      end
    end
  end
  if #dropped > 0 then call('HDEL', key, unpack(dropped)) end
  local excess = added > 0 and call('HLEN', key) + added - ARGV[4] or 0
  if excess > 0 then raised = make_room(key, excess, raised) end
  if raised > floor then call('HSET', key, '', epoch .. ' ' .. raised) end
  if cells > 0 then
    call('HSET', key, unpack(stored))
    call('PEXPIRE', key, ARGV[3])
  end
end

for first = 5 + calls, #ARGV, 5 do
  local spans, crm_ids, scores = cjson.decode(ARGV[first + 2]), cjson.decode(ARGV[first + 3]), cjson.decode(ARGV[first + 4])
  store(KEYS[4 + calls], ARGV[first], ARGV[first + 1], spans, crm_ids, scores)
end
return reply
