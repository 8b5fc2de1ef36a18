#!lua
--[[
  Start an ended task's next generation, and owe its publication.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation that was read
  ARGV[4]   status that was read in the record, or "" when there was none
  ARGV[5]   submission
  ARGV[6]   generation of the submission
  ARGV[7]   fingerprint of the request
  ARGV[8]   "1" when the id comes from a key, else ""
  ARGV[9]   the fields for readers (JSON)
  ARGV[10]  the largest known fencing token
  ARGV[11]  the due entry up to the generation: the facts that ended the previous one, and the head
  ARGV[12]  the due entry after the generation
  ARGV[13]  how long the caller may take to publish (ms)
  ARGV[14]  the facts that ended the previous one (JSON): published by a claim that is refused its turns

  Returns {answer, generation}
    COLD      the shard lost data, or may have; nothing was changed
    MOVED     the task has moved on since it was read; nothing was changed
    REDRIVEN  it waits for its first turn: publish it
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD", "0"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call("HMGET", KEYS[2], "generation", "status", "token")
if (record[2] or "") ~= ARGV[4] or (record[1] and record[1] ~= ARGV[3]) then
  return {"MOVED", "0"}
end

local born = string.format("%.0f", math.max(now, tonumber(ARGV[3]) + 1))
local token = string.format("%.0f", math.max(tonumber(record[3] or 0), tonumber(ARGV[10])))
redis.call("DEL", KEYS[2])
redis.call("ZREM", KEYS[5], ARGV[2])
redis.call("HSET", KEYS[2],
  "generation", born, "submitted", ARGV[6], "turn", "1", "attempt", "1", "status", "queued",
  "submission", ARGV[5], "fingerprint", ARGV[7], "keyed", ARGV[8], "about", ARGV[9],
  "token", token, "losses", "0", "last", ARGV[14])
local member = ARGV[2] .. "|" .. born .. "|1|submission"
redis.call("ZADD", KEYS[3], now + tonumber(ARGV[13]), member)
redis.call("HSET", KEYS[4], member, ARGV[11] .. born .. ARGV[12])
return {"REDRIVEN", born}
