#!lua
--[[
  Start the next turn of a waiting task, with another time, priority or metadata; owe the facts
  about it.

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
  ARGV[6]   attempt of the next turn
  ARGV[7]   when the next turn is due (ms)
  ARGV[8]   when that was set (ms)
  ARGV[9]   how far ahead only the ledger keeps it (ms)
  ARGV[10]  how long the record of such a task is kept (ms)
  ARGV[11]  bytes of the next turn's due entry, with these facts: they are in the log before it
            enters its lane
  ARGV[12]  the facts that report it, with those that the turn owed (JSON)
  ARGV[13]  bytes of the due entry with them
  ARGV[14]  how long the caller may take to publish (ms)
  ARGV[15]  the fields for readers (JSON)
  ARGV[16]  when the turn that was read may start (ms), or 0

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
  "HMGET", KEYS[2], "generation", "turn", "status", "cancel_requested", "keyed", "about",
  "lease_until", "source")
if record[1] ~= ARGV[3] or record[2] ~= ARGV[4] or record[3] ~= ARGV[5] or record[4] == "1"
  or not record[6] then
  return {"MOVED"}
end
-- A lease restored by a rebuild may have a live holder.
local lease_until = (record[8] or "") == "" and tonumber(record[7]) or 0
if lease_until > now and tonumber(ARGV[16]) <= lease_until then
  return {"MOVED"}
end
redis.call("ZCARD", KEYS[3])
redis.call("HLEN", KEYS[4])
redis.call("ZCARD", KEYS[5])

local life = ARGV[2] .. "|" .. ARGV[3] .. "|"
local turn = string.format("%.0f", tonumber(ARGV[4]) + 1)
redis.call("ZREM", KEYS[3], life .. ARGV[4] .. "|turn")
redis.call("HDEL", KEYS[4], life .. ARGV[4] .. "|turn")
local hold = string.format("%.0f", now + tonumber(ARGV[14]))
redis.call("ZADD", KEYS[3], hold, life .. turn .. "|facts")
redis.call("HSET", KEYS[4], life .. turn .. "|facts", ARGV[13])
-- The version before wrote dropped and process.
redis.call("HDEL", KEYS[2], "lease_until", "lease_limit", "source", "untold", "waiting", "parked",
  "dropped", "process")
redis.call("HSET", KEYS[2],
  "turn", turn, "attempt", ARGV[6], "status", "scheduled", "about", ARGV[15], "last", ARGV[12])
if tonumber(ARGV[7]) - tonumber(ARGV[8]) <= tonumber(ARGV[9]) then
  redis.call("PERSIST", KEYS[2])
  redis.call("ZREM", KEYS[5], ARGV[2])
  redis.call("ZADD", KEYS[3], ARGV[7], life .. turn .. "|turn")
  redis.call("HSET", KEYS[4], life .. turn .. "|turn", ARGV[11])
elseif record[5] == "1" then
  redis.call("ZADD", KEYS[5], now + tonumber(ARGV[10]), ARGV[2])
else
  redis.call("PEXPIRE", KEYS[2], ARGV[10])
end
return {"DONE", hold}
