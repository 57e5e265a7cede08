#!lua flags=allow-oom
-- begin-recount.lua: has what is settled and released on a counter noted from now on, so that it can be set to what the
-- ledger says while calls go on: see recount.lua. Only by the holder of the counter's lock.
--
-- KEYS[1] usage hash of (organisation, bucket, month)   KEYS[2] calls that have ended since   KEYS[3] lock
-- ARGV[1] the lock's token   ARGV[2] ms after which nothing is noted any more: whoever recounts has died
--
-- returns {code, used, leased}, both in records
--    1 begun                     -2 unknown counter          -8 the lock is lost
-- KEYS[2] begins with `<token> <run of Redis> <used>`. settle.lua adds `+<records> <call id>` to it, release.lua
-- `-<records> <call id>`, for as long as it is there.

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
