#!lua flags=no-writes
--[[
  Return everything known of a task, and what its present turn still owes.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id

  Returns {"COLD"} when the shard lost data, or may have; {} without a record; else
  {about, status, generation, attempt, losses, started, ending, result, waiting,
  cancel requested, first start if different, turn, token, submitted, last facts,
  owed submission, owed turn, owed facts, parked, now in ms,
  end of a lease without a known holder in ms}, each or ""
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local record = redis.call(
  "HMGET", KEYS[2], "about", "status", "generation", "attempt", "losses", "started_at", "ending",
  "result", "waiting", "cancel_requested", "first_started_at", "turn", "token", "submitted", "last")
local slot = redis.call("HGET", KEYS[2], "parked") or ""
if not record[1] then
  return {}
end
local turn = ARGV[2] .. "|" .. record[3] .. "|" .. record[12]
for _, kind in ipairs({"submission", "turn", "facts", "parked|" .. slot}) do
  record[#record + 1] = redis.call("HGET", KEYS[3], turn .. "|" .. kind)
end
for index = 1, 19 do
  record[index] = record[index] or ""
end
local time = redis.call("TIME")
local lease = redis.call("HMGET", KEYS[2], "lease_until", "source")
record[20] = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
record[21] = (lease[2] or "") == "" and lease[1] or ""
return record
