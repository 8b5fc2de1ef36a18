#!lua flags=no-writes
--[[
  Return the fields of a task for readers.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  ARGV[1]  run id of the server, as the connection knows it

  Returns {"COLD"} when the shard lost data, or may have; {} without a record; else
  {about, status, generation, attempt, losses, started, ending, result, waiting,
  cancel requested, first start if different}, each or ""
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local record = redis.call(
  "HMGET", KEYS[2], "about", "status", "generation", "attempt", "losses", "started_at", "ending",
  "result", "waiting", "cancel_requested", "first_started_at")
if not record[1] then
  return {}
end
for index = 1, 11 do
  record[index] = record[index] or ""
end
return record
