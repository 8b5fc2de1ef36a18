#!lua flags=allow-oom
--[[
  Park a task until its type has a worker: owe it to `tasks.pending` after a while.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id
  ARGV[3]  generation
  ARGV[4]  turn
  ARGV[5]  until when it waits (ms), or "" when it waits for the first time
  ARGV[6]  how long it waits in all (ms)
  ARGV[7]  how often it is published again (ms)
  ARGV[8]  the envelope after its opening brace, without its waiting time (JSON)

  Returns
    COLD    the shard lost data, or may have; nothing was changed
    OVER    it waited long enough, or has moved on; nothing was changed
    PARKED  it is owed; its entry has the end of the wait, and its record names the entry
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- What is no hash was put there by somebody else, and counts as no record.
local record = {}
if redis.call("TYPE", KEYS[2])["ok"] == "hash" then
  record = redis.call("HMGET", KEYS[2], "generation", "turn", "status")
end
local generation, turn = tonumber(ARGV[3]), tonumber(ARGV[4])
local known = tonumber(record[1] or 0)
if known > generation then
  return "OVER"
end
if known == generation then
  local status = record[3]
  local is_waiting = status == "queued" or status == "retrying" or status == "scheduled"
  if not is_waiting or turn ~= tonumber(record[2]) then
    return "OVER"
  end
end
local latest = tonumber(ARGV[5]) or now + tonumber(ARGV[6])
if latest <= now then
  return "OVER"
end
local slot = math.floor(now / tonumber(ARGV[7])) + 1
local member = table.concat(
  {ARGV[2], ARGV[3], ARGV[4], "parked", string.format("%.0f", slot)}, "|")
redis.call("ZADD", KEYS[3], string.format("%.0f", slot * tonumber(ARGV[7])), member)
redis.call("HSET", KEYS[4], member,
  '{"task":{"parked_until_ms":' .. string.format("%.0f", latest) .. "," .. ARGV[8] .. "}")
if known == generation then
  redis.call("HSET", KEYS[2], "parked", string.format("%.0f", slot))
end
return "PARKED"
