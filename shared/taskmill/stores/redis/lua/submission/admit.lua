#!lua
--[[
  Turn a submission into a task, once per key, and owe its publication.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   submission: the request's nonce
  ARGV[4]   fingerprint of the request
  ARGV[5]   "1" when the id comes from a key, else ""
  ARGV[6]   the fields for readers (JSON)
  ARGV[7]   the envelope after its generation (JSON without its head)
  ARGV[8]   how long a key is kept after submission (ms), if its lifetime is not recorded
  ARGV[9]   how long the caller may take to publish (ms)
  ARGV[10]  when it should start (ms), or ""
  ARGV[11]  instead of that, the delay after its submission (ms), or ""
  ARGV[12]  "1" when the log has the submission, and may deliver it again, else ""

  Returns {verdict, generation, what the winner still owes or ""}
    COLD      the shard lost data, or may have; nothing was changed
    CREATED   a new task, or a new generation of it after the window
    BEFORE    this submission was admitted before
    REPLAYED  an identical request came before
    CONFLICT  a different request came before under this key
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD", "0", ""}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "submission", "fingerprint", "submitted", "status", "token")
local generation = record[1]

local function is_final(status)
  return status == "succeeded" or status == "dead" or status == "cancelled"
end

if generation then
  local member = ARGV[2] .. "|" .. generation .. "|1|submission"
  local owed = redis.call("HGET", KEYS[4], member) or ""
  if record[2] == ARGV[3] then
    return {"BEFORE", generation, owed}
  end
  local expires = tonumber(redis.call("ZSCORE", KEYS[5], ARGV[2])
    or tonumber(record[4]) + tonumber(ARGV[8]))
  if not is_final(record[5]) or now < expires then
    if record[3] == ARGV[4] then
      return {"REPLAYED", generation, owed}
    end
    return {"CONFLICT", generation, owed}
  end
end

local born = string.format("%.0f", math.max(now, tonumber(generation or 0) + 1))
local due = tonumber(ARGV[10]) or tonumber(born) + (tonumber(ARGV[11]) or 0)
local status = due > tonumber(born) and "scheduled" or "queued"
redis.call("DEL", KEYS[2])
redis.call("ZREM", KEYS[5], ARGV[2])
redis.call("HSET", KEYS[2],
  "generation", born, "submitted", born, "turn", "1", "attempt", "1", "status", status,
  "submission", ARGV[3], "fingerprint", ARGV[4], "keyed", ARGV[5], "about", ARGV[6],
  "token", record[6] or "0", "losses", "0")
if ARGV[12] == "1" then
  redis.call("HSET", KEYS[2], "deferred", "1")
end
local member = ARGV[2] .. "|" .. born .. "|1|submission"
redis.call("ZADD", KEYS[3], now + tonumber(ARGV[9]), member)
redis.call("HSET", KEYS[4], member, '{"task":{"generation":' .. born .. "," .. ARGV[7] .. "}")
return {"CREATED", born, ""}
