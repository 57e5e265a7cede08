#!lua flags=allow-oom
-- begin-recount.lua: begins a recount: from now on, settle.lua and release.lua list the calls that they end. So the
-- counter can be set from the ledger while calls go on; see recount.lua. Only for the holder of the counter's lock.
--
-- KEYS[1] usage hash of (organisation, bucket, month).   KEYS[2] list of ended calls.   KEYS[3] lock.
-- ARGV[1] the lock's token.   ARGV[2] TTL of the list, ms, in case the process that recounts dies.
--
-- Returns {code, used, leased}, both in records:
--    `1` begun.   `-2` unknown counter.   `-8` the lock is lost.
-- KEYS[2] begins with `<token> <run of Redis> <used>`. While it exists, settle.lua appends `+<records> <call id>`, and
-- release.lua `-<records> <call id>`.

local usage = redis.call('HMGET', KEYS[1], 'used', 'leased')
if not usage[1] then return {-2, 0, 0} end
local code = -8
if redis.call('GET', KEYS[3]) == ARGV[1] then
  code = 1
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
  redis.call('DEL', KEYS[2])
  redis.call('RPUSH', KEYS[2], table.concat({ARGV[1], run, usage[1]}, ' '))
  redis.call('PEXPIRE', KEYS[2], ARGV[2])
end
return {code, tonumber(usage[1]), tonumber(usage[2])}
