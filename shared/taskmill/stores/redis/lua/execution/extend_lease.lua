#!lua flags=allow-oom
--[[
  Extend a lease, identified by its fencing token. One without a source was restored by a rebuild:
  its holder, whose token may be larger than the restored one, takes it.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  generation
  ARGV[3]  turn
  ARGV[4]  fencing token
  ARGV[5]  length of a lease (ms)
  ARGV[6]  source: the name of the take
  ARGV[7]  "1" when no lease has passed between two answers to its beats, else "": somebody else may
           have the restored lease then

  Returns
    COLD    the shard lost data, or may have; nothing was changed
    HELD    the lease belongs to the caller and was extended
    CANCEL  the same, and its cancellation was requested
    LOST    the turn has a new owner or is over, or its lease has lapsed and was closed
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "lease_limit", "cancel_requested",
  "lease_until", "source")
local is_final = record[3] == "succeeded" or record[3] == "dead" or record[3] == "cancelled"
local has_lease = record[7] and record[7] ~= "0"
if record[1] ~= ARGV[2] or record[2] ~= ARGV[3] or is_final or not has_lease then
  return "LOST"
end
local source = record[8] or ""
local is_theirs = record[4] == ARGV[4]
if source == "" then
  is_theirs = ARGV[7] == "1" and tonumber(ARGV[4]) >= tonumber(record[4] or 0)
  source = ARGV[6]
end
if not is_theirs then
  return "LOST"
end
local latest = now + tonumber(ARGV[5])
if record[5] then
  latest = math.min(latest, tonumber(record[5]))
end
redis.call("HSET", KEYS[2],
  "status", "running", "token", ARGV[4], "source", source,
  "lease_until", string.format("%.0f", latest))
return record[6] == "1" and "CANCEL" or "HELD"
