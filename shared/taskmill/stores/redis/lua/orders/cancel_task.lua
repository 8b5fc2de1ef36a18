#!lua flags=allow-oom
--[[
  End a waiting task, or ask the worker of a running one to stop; owe the facts about it.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation that was read
  ARGV[4]   turn that was read
  ARGV[5]   status that was read
  ARGV[6]   how the generation ends (JSON), or "" for a task that runs or may run
  ARGV[7]   the answer to a late claim: the facts that report it, without a body (JSON)
  ARGV[8]   bytes of the due entry with the facts
  ARGV[9]   how long the caller may take to publish (ms)
  ARGV[10]  how long a key is kept after submission (ms)
  ARGV[11]  how long a key is kept at least after the end of its task (ms)
  ARGV[12]  how long the record of an unkeyed task is kept after its end (ms)
  ARGV[13]  new status: cancelled or dead
  ARGV[14]  when the turn that was read may start (ms), or 0

  Returns {answer, …}
    COLD        the shard lost data, or may have; nothing was changed
    MOVED       the task has moved on, is gone, or may run by now; nothing was changed
    DONE, hold  it is valid: publish the facts; until when the caller has their entry to itself (ms)
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "cancel_requested", "submitted", "keyed",
  "lease_until", "source")
if record[1] ~= ARGV[3] or record[2] ~= ARGV[4] or record[3] ~= ARGV[5] or record[4] == "1" then
  return {"MOVED"}
end
-- A lease restored by a rebuild may have a live holder: ask it to stop, as for a running task.
local lease_until = (record[8] or "") == "" and tonumber(record[7]) or 0
local may_run = record[3] == "running"
  or (lease_until > now and tonumber(ARGV[14]) <= lease_until)
if may_run ~= (ARGV[6] == "") then
  return {"MOVED"}
end

local turn = ARGV[2] .. "|" .. ARGV[3] .. "|" .. ARGV[4]
-- A gateway that changed the task to this turn may hold the entry: no two holds of it are equal.
local held = tonumber(redis.call("ZSCORE", KEYS[3], turn .. "|facts") or 0)
local hold = string.format("%.0f", math.max(now + tonumber(ARGV[9]), held + 1))
redis.call("ZADD", KEYS[3], hold, turn .. "|facts")
redis.call("HSET", KEYS[4], turn .. "|facts", ARGV[8])
if ARGV[6] == "" then
  redis.call("HSET", KEYS[2], "cancel_requested", "1")
  return {"DONE", hold}
end
redis.call("ZREM", KEYS[3], turn .. "|turn")
redis.call("HDEL", KEYS[4], turn .. "|turn")
-- The version before wrote dropped and process.
redis.call("HDEL", KEYS[2], "lease_until", "lease_limit", "source", "dropped", "process")
redis.call("HSET", KEYS[2], "status", ARGV[13], "last", ARGV[7], "ending", ARGV[6])
if record[6] == "1" then
  local expires = math.max(
    now + tonumber(ARGV[11]), tonumber(record[5]) + tonumber(ARGV[10]))
  redis.call("ZADD", KEYS[5], expires, ARGV[2])
else
  redis.call("PEXPIRE", KEYS[2], ARGV[12])
end
return {"DONE", hold}
