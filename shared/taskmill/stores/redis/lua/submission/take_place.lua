#!lua flags=allow-oom
--[[
  Take one of the slots for waiting requests; a slot whose holder died becomes free again.

  KEYS[1]  the slots
  ARGV[1]  the holder's nonce
  ARGV[2]  number of slots
  ARGV[3]  how long a slot is held at most (ms)

  Returns 1 with a slot, 0 without
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call("ZREMRANGEBYSCORE", KEYS[1], "-inf", now)
if redis.call("ZCARD", KEYS[1]) >= tonumber(ARGV[2]) then
  return 0
end
redis.call("ZADD", KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return 1
