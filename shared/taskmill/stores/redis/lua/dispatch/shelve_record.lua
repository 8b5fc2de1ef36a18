#!lua flags=allow-oom
--[[
  Let the record of a task end that waits in the ledger only, because its line is full.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's lifetimes
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id
  ARGV[3]  generation
  ARGV[4]  turn
  ARGV[5]  how long its record is kept (ms)
  ARGV[6]  how long at least, if the log may deliver its submission again: it would be a new task

  Returns 1 when it ends, but for what its key needs; 0 when it stays: the shard lost data, or may
  have, or the task has moved on, or was brought in from the shelf
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "shelved", "keyed", "lease_until",
  "deferred")
if record[1] ~= ARGV[3] or record[2] ~= ARGV[4] or record[3] ~= "queued" or record[4] == "0" then
  return 0
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(record[6] or 0) > now then
  return 0
end
if record[5] == "1" then
  redis.call("HSET", KEYS[2], "shelved", "1")
  redis.call("ZADD", KEYS[3], now + tonumber(ARGV[5]), ARGV[2])
else
  local least = record[7] == "1" and tonumber(ARGV[6]) or 0
  redis.call("PEXPIRE", KEYS[2], math.max(tonumber(ARGV[5]), least))
end
return 1
