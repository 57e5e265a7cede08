#!lua flags=allow-oom
-- erase-lead.lua: forgets what is known of one lead. Calls that were made before, and are settled afterwards, do not bring
-- it back. A hash that is not there is begun, so that it says so. Runs even when memory is full.
--
-- KEYS[1..] hash of the newest scores of each of the organisation's models
-- ARGV[1] a token that no other call has   ARGV[2] ms to keep a new hash   ARGV[3] crm_id
-- ARGV[4] an entry without a score, which comes after those of all earlier calls: an id and a space
--
-- returns the number of keys

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
for _, key in ipairs(KEYS) do
  local generation = redis.call('HGET', key, '')
  if not generation or string.sub(generation, 1, #run) ~= run then
    redis.call('UNLINK', key)
    redis.call('HSET', key, '', run .. ' ' .. ARGV[1])
    redis.call('PEXPIRE', key, ARGV[2])
  end
  redis.call('HSET', key, ARGV[3], ARGV[4])
end
return #KEYS
