#!lua flags=allow-oom
--[[
  Update a record from the ledger, if the record is still as it was read.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation that was read, or "" when there was no record
  ARGV[4]   turn that was read, or ""
  ARGV[5]   status that was read, or ""
  ARGV[6]   generation
  ARGV[7]   turn
  ARGV[8]   status
  ARGV[9]   largest known fencing token
  ARGV[10]  losses
  ARGV[11]  "1" when it must be cancelled, else ""
  ARGV[12]  when its turn is due (ms), or "" when it is already queued
  ARGV[13]  bytes of the turn's due entry
  ARGV[14]  length of a lease (ms)
  ARGV[15]  how long a key is kept after submission (ms)
  ARGV[16]  how long a key is kept at least after the end of its task (ms)
  ARGV[17]  how long the record of an unkeyed task is kept after its end (ms)
  After them: the fields of the record, each followed by its value

  Returns
    COLD   the shard lost data, or may have; nothing was changed
    MOVED  the task has moved on since it was read; nothing was changed
    DONE   the record matches the ledger; if unfinished, nobody may claim it for one lease
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- A value of another type was written by another client, and counts as no record.
local seen = {}
if redis.call("TYPE", KEYS[2])["ok"] == "hash" then
  seen = redis.call("HMGET", KEYS[2], "generation", "turn", "status", "token", "losses")
end
if (seen[1] or "") ~= ARGV[3] or (seen[2] or "") ~= ARGV[4] or (seen[3] or "") ~= ARGV[5] then
  return "MOVED"
end
redis.call("ZCARD", KEYS[3])
redis.call("HLEN", KEYS[4])
redis.call("ZCARD", KEYS[5])

local token = string.format("%.0f", math.max(tonumber(seen[4] or 0), tonumber(ARGV[9])))
local losses = tonumber(ARGV[10])
if seen[1] == ARGV[6] then
  losses = math.max(losses, tonumber(seen[5] or 0))
end
redis.call("DEL", KEYS[2])
redis.call("ZREM", KEYS[5], ARGV[2])
redis.call("HSET", KEYS[2], unpack(ARGV, 18))
redis.call("HSET", KEYS[2],
  "generation", ARGV[6], "turn", ARGV[7], "status", ARGV[8],
  "token", token, "losses", string.format("%.0f", losses))

if ARGV[8] == "succeeded" or ARGV[8] == "dead" or ARGV[8] == "cancelled" then
  local record = redis.call("HMGET", KEYS[2], "submitted", "keyed")
  if record[2] == "1" then
    local expires = math.max(
      now + tonumber(ARGV[16]), tonumber(record[1]) + tonumber(ARGV[15]))
    redis.call("ZADD", KEYS[5], expires, ARGV[2])
  else
    redis.call("PEXPIRE", KEYS[2], ARGV[17])
  end
  return "DONE"
end
redis.call("HSET", KEYS[2], "source", "", "cancel_requested", ARGV[11],
  "lease_until", string.format("%.0f", now + tonumber(ARGV[14])))
if ARGV[12] ~= "" then
  local member = ARGV[2] .. "|" .. ARGV[6] .. "|" .. ARGV[7] .. "|turn"
  redis.call("ZADD", KEYS[3], "NX", ARGV[12], member)
  redis.call("HSETNX", KEYS[4], member, ARGV[13])
end
return "DONE"
