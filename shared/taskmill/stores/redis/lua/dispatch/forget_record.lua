#!lua flags=allow-oom
--[[
  Delete the record of a finished task after its retention time; for a task that only the ledger
  keeps, keep what its key needs.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's lifetimes
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id

  Returns 1 when it is gone, or reduced to what its key needs; 0 when it stays
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return 0
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expires = redis.call("ZSCORE", KEYS[3], ARGV[2])
if not expires or tonumber(expires) > now then
  return 0
end
redis.call("ZREM", KEYS[3], ARGV[2])
local status, shelved = unpack(redis.call("HMGET", KEYS[2], "status", "shelved"))
if status == "scheduled" or status == "queued" and shelved == "1" then
  local names = {
    "generation", "turn", "submitted", "status", "fingerprint", "keyed", "token", "losses"}
  local values = redis.call("HMGET", KEYS[2], unpack(names))
  redis.call("DEL", KEYS[2])
  for index, name in ipairs(names) do
    if values[index] and values[index] ~= "0" then
      redis.call("HSET", KEYS[2], name, values[index])
    end
  end
  return 1
end
if status == "queued" or status == "running" or status == "retrying" then
  return 0
end
redis.call("DEL", KEYS[2])
return 1
