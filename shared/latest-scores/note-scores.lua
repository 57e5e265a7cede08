#!lua flags=allow-oom
-- note-scores.lua: makes the scores of some recorded calls the latest scores of their leads. Runs even when memory is
-- full. Safe to repeat. Comes right before settle.lua of the same calls, so that no settled call is missing. Both are
-- one write on one connection. A command of another client may still come between them, or the second may be lost:
--
-- - A noted call that is not settled after all is voided, or settled by the sweep. Both drop the hash.
-- - A command that comes after that finds another epoch, and stores nothing.
-- - A call whose state is lost, because Redis was emptied, finds another epoch as well.
--
-- KEYS[1] hash of the organisation's leads.   KEYS[2..] state of each call, in the order of the notes.
-- ARGV[1] TTL of latest scores, ms.   ARGV[2] max fields of the hash.
-- ARGV[3..] five for each note, which has the scores of some calls under one model.
--    `1` the epoch of the hash, read before the calls were recorded.   `2` the model.
--    `3` JSON: id and number of rows of each call, in turn.
--    `4` JSON: the crm_id of each row, or null.   `5` JSON: the score of each row.
--
-- Returns for each call, in the order of the keys: 1, or 0 when nothing was noted because it was released. A later call
-- that was noted before keeps its scores. Only an existing hash is written to. read-scores.lua says when a score may be
-- stored; else an entry that lacks it is dropped. A full hash loses the oldest of some random entries.

local call, sub = redis.call, string.sub
local reply, noted = {}, 0
for index, state in ipairs(call('MGET', unpack(KEYS, 2))) do
  reply[index] = sub(state or '', 1, 9) == 'released:' and 0 or 1
end

-- The latest item of each of a note's leads, and the crm_ids without repetition.
local function items_of(number, calls, crm_ids, scores)
  local items, leads, at = {}, {}, 0
  for index = 1, #calls, 2 do
    local id, rows = calls[index], calls[index + 1]
    for row = 1, rows * reply[noted + (index + 1) / 2] do
      local crm_id = crm_ids[at + row]
      if crm_id ~= cjson.null then
        local item, other = string.format('%s%04d%03d%s', id, row - 1, scores[at + row], number), items[crm_id]
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
  for index, entry in ipairs(call('HMGET', key, unpack(names))) do
    if #entry % 36 == 0 and names[index] ~= '' then oldest[#oldest + 1] = sub(entry, 1, 30) .. names[index] end
  end
  table.sort(oldest)
  for index = 1, math.min(count, #oldest) do
    call('HDEL', key, sub(oldest[index], 31))
    if oldest[index] > floor then floor = sub(oldest[index], 1, 30) end
  end
  return floor
end

local function store(call_epoch, model, ...)
  local key = KEYS[1]
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
  for index, crm_id in ipairs(leads) do
    local entry = known[index] or ''
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
  local excess = added > 0 and call('HLEN', key) + added - ARGV[2] or 0
  if excess > 0 then raised = make_room(key, excess, raised) end
  if raised > floor then call('HSET', key, '', epoch .. ' ' .. raised) end
  if cells > 0 then
    call('HSET', key, unpack(stored))
    call('PEXPIRE', key, ARGV[1])
  end
end

for first = 3, #ARGV, 5 do
  local calls, crm_ids, scores = cjson.decode(ARGV[first + 2]), cjson.decode(ARGV[first + 3]), cjson.decode(ARGV[first + 4])
  store(ARGV[first], ARGV[first + 1], calls, crm_ids, scores)
  noted = noted + #calls / 2
end
return reply
