#!lua
--[[
  Extend a lease, identified by its fencing token.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  generation
  ARGV[3]  turn
  ARGV[4]  fencing token
  ARGV[5]  length of a lease (ms)

  Returns
    COLD    the shard lost data, or may have; nothing was changed
    HELD    the lease belongs to the caller and was extended
    CANCEL  the same, and its cancellation was requested
    LOST    the turn has a new owner or is over
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "lease_limit", "cancel_requested")
local is_final = record[3] == "succeeded" or record[3] == "dead" or record[3] == "cancelled"
if record[1] ~= ARGV[2] or record[2] ~= ARGV[3] or is_final
  or tonumber(ARGV[4]) < tonumber(record[4] or 0) then
  return "LOST"
end
local latest = now + tonumber(ARGV[5])
if record[5] then
  latest = math.min(latest, tonumber(record[5]))
end
redis.call("HSET", KEYS[2],
  "status", "running", "token", ARGV[4], "lease_until", string.format("%.0f", latest))
return record[6] == "1" and "CANCEL" or "HELD"
