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
-- ARGV[3..] seven for each note, which has the scores of some calls under one version of a model. A lead of a call is a
--    crm_id of it, once: with the row that scored it last.
--    `1` the epoch of the hash, read before the calls were recorded.   `2` the model.   `3` the version.
--    `4` JSON: number of leads of each call.   `5` JSON: the crm_id of each lead.
--    `6` the item of each lead without the number of the model, 33 characters.
--    `7` the slots without a value in the row of each lead, five characters of a tail. Empty if no row of the calls
--    has any.
--
-- Returns for each call, in the order of the keys: 1, or 0 when nothing was noted because it was released. A later call
-- that was noted before keeps its scores. Only an existing hash is written to. read-scores.lua says when a score may be
-- stored; else an entry that lacks it is dropped. A full hash loses the oldest of some random entries.

local call, sub = redis.call, string.sub
local reply, noted = {}, 0
for index, state in ipairs(call('MGET', unpack(KEYS, 2))) do
  reply[index] = sub(state or '', 1, 9) == 'released:' and 0 or 1
end

-- The leads of a note's calls that are not released, without repetition, and the place of each one's latest item. No
-- places when they are those of the leads.
local function chosen(counts, crm_ids, items)
  if #counts == 1 then return reply[noted + 1] == 1 and crm_ids or {} end
  local leads, places, index_of, at = {}, {}, {}, 0
  local function item(place) return sub(items, 33 * place - 32, 33 * place) end
  for index, count in ipairs(counts) do
    for place = at + 1, at + count * reply[noted + index] do
      local crm_id = crm_ids[place]
      local known = index_of[crm_id]
      if not known then
        leads[#leads + 1] = crm_id
        places[#leads] = place
        index_of[crm_id] = #leads
      elseif item(places[known]) < item(place) then
        places[known] = place
      end
    end
    at = at + count
  end
  return leads, places
end

-- The items of an entry without that of a model, the latter, and the tail. A tail is about the first item: it is left
-- out when that is the model's, whose later item comes first too.
local function parted(entry, number)
  if #entry < 72 and sub(entry, 34, 36) == number then return '', sub(entry, 1, 36), '' end
  local length = #entry - #entry % 36
  local items, tail = sub(entry, 1, length), sub(entry, length + 1)
  for at = 1, length, 36 do
    if sub(items, at + 33, at + 35) == number then
      return sub(items, 1, at - 1) .. sub(items, at + 36), sub(items, at, at + 35), tail
    end
  end
  return items, nil, tail
end

-- The entry of some items and one more. `gaps` and the number of the version are for the tail of the latter, if it is
-- the first; see read-scores.lua. Otherwise `tail` is that of the first. Few strings are made: each costs some 0.1 us.
local function with_item(items, item, tail, version_number, gaps)
  local at = 1
  while at < #items and sub(items, at, at + 35) > item do at = at + 36 end
  if at > 1 then return sub(sub(items, 1, at - 1) .. item .. sub(items, at), 1, 108) .. tail end
  if #items > 72 then items = sub(items, 1, 72) end
  if gaps == '' or gaps == '00000' then return item .. items end
  return item .. items .. '!' .. sub(item, 16, 30) .. version_number .. gaps
end

-- Numbers a model or a version. Returns nothing when there are too many, and the hash is dropped then.
local function number_of(key, name, counter)
  local number = string.format('%03x', call('HINCRBY', key, counter, 1))
  if #number > 3 then
    call('UNLINK', key)
    return
  end
  call('HSET', key, name, number)
  return number
end

-- Drops the oldest of three times as many random entries. Returns the latest id among them, or the floor.
local function make_room(key, count, floor)
  local names, oldest = call('HRANDFIELD', key, 3 * count), {}
  for index, entry in ipairs(call('HMGET', key, unpack(names))) do
    if names[index] ~= '' and sub(names[index], 1, 1) ~= '\0' then oldest[#oldest + 1] = sub(entry, 1, 30) .. names[index] end
  end
  table.sort(oldest)
  for index = 1, math.min(count, #oldest) do
    call('HDEL', key, sub(oldest[index], 31))
    if oldest[index] > floor then floor = sub(oldest[index], 1, 30) end
  end
  return floor
end

local function store(call_epoch, model, version, counts, crm_ids, items, gaps)
  local key, name = KEYS[1], '\0' .. model
  local version_name = name .. '\0' .. version
  local head = call('HMGET', key, '', name, version_name)
  local epoch, floor = string.match(head[1] or '', '^(%S+ %S+) (%S*)$')
  if not epoch then return end
  local is_same, number, version_number = epoch == call_epoch, head[2], head[3]
  if is_same then
    number = number or number_of(key, name, '\0')
    version_number = version_number or gaps ~= '' and number and number_of(key, version_name, '\0\0')
    if not number or gaps ~= '' and not version_number then return end
  end
  local leads, places = chosen(counts, crm_ids, items)
  if #leads == 0 then return end
  local ending = number or ''
  local known = call('HMGET', key, unpack(leads))
  local stored, cells, dropped, added, raised = {}, 0, {}, 0, floor
  for index, crm_id in ipairs(leads) do
    local entry = known[index] or ''
    local place = places and places[index] or index
    local item = sub(items, 33 * place - 32, 33 * place) .. ending
    local others, own, tail = '', nil, ''
    if entry ~= '' then others, own, tail = parted(entry, number) end
    local is_older = own and own >= item
    if not is_older and is_same and (own or item > floor) then
      cells = cells + 2
      stored[cells - 1] = crm_id
      stored[cells] = with_item(others, item, tail, version_number, sub(gaps, 5 * place - 4, 5 * place))
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

for first = 3, #ARGV, 7 do
  local counts, crm_ids = cjson.decode(ARGV[first + 3]), cjson.decode(ARGV[first + 4])
  store(ARGV[first], ARGV[first + 1], ARGV[first + 2], counts, crm_ids, ARGV[first + 5], ARGV[first + 6])
  noted = noted + #counts
end
return reply
