/** A Lua script that keeps Redis busy for twenty milliseconds. KEYS and ARGV: none; returns nothing. */
export const busyScript = `
  local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local began = now()
  repeat until now() > began + 20000`;
