#!lua flags=allow-oom
-- note-process.lua: notes a running process, and drops those that were not noted for a while. Or reads the notes.
--
-- KEYS[1] hash of notes by the id of the process: the Redis ms of the note, a space, its text
-- ARGV[1] id of this process; empty to only read   ARGV[2] text   ARGV[3] age from which a note no longer counts, ms
--
-- returns, to a process, nothing; else the Redis ms, then id and note of each process

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local shown = string.format('%.0f', now)
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], shown .. ' ' .. ARGV[2]) end
local left = { shown }
local notes = redis.call('HGETALL', KEYS[1])
for index = 1, #notes, 2 do
  local id, note = notes[index], notes[index + 1]
  local noted = tonumber(string.match(note, '^%d+')) or 0
  -- A note from the future was written before the clock was set back.
  if math.abs(now - noted) > tonumber(ARGV[3]) then
    if ARGV[1] ~= '' then redis.call('HDEL', KEYS[1], id) end
  elseif ARGV[1] == '' then
    left[#left + 1] = id
    left[#left + 1] = note
  end
end
if ARGV[1] ~= '' then return {} end
return left
