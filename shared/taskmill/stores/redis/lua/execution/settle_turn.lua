#!lua flags=allow-oom
--[[
  End a turn: with the end of its generation, or with the next turn, owed at its time.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation
  ARGV[4]   turn
  ARGV[5]   fencing token
  ARGV[6]   status that the turn leads to
  ARGV[7]   the facts that report it (JSON)
  ARGV[8]   how the generation ended (JSON), or ""
  ARGV[9]   result (JSON), or ""
  ARGV[10]  attempt
  ARGV[11]  when the next turn is due (ms), or ""
  ARGV[12]  bytes of the next turn's due entry, or ""
  ARGV[13]  why the next turn waits (JSON), or ""
  ARGV[14]  how long a key is kept after submission (ms)
  ARGV[15]  how long a key is kept at least after the end of its task (ms)
  ARGV[16]  how long the record of an unkeyed task is kept after its end (ms)
  ARGV[17]  age up to which a generation without a record is adopted (ms)
  What a record is created from, which may be omitted at first:
  ARGV[18]  submission
  ARGV[19]  generation of the submission
  ARGV[20]  fingerprint of the request
  ARGV[21]  "1" when the id comes from a key, else ""
  ARGV[22]  the fields for readers (JSON)

  Returns {} when a record must be created and these were omitted: nothing was changed; else
  {answer, facts}
    COLD     the shard lost data, or may have; nothing was changed
    SETTLED  it is valid: publish the facts, or those of an earlier call, which are returned again
    STALE    the turn has a new owner or is over; nothing was changed
    CANCEL   its cancellation was requested and it did not succeed; nothing was changed
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD", ""}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "settled", "last", "submitted", "keyed",
  "cancel_requested")
local token = tonumber(ARGV[5])

if record[1] then
  if record[1] ~= ARGV[3] then
    return {"STALE", ""}
  end
  if record[5] == ARGV[4] .. "|" .. ARGV[5] then
    return {"SETTLED", record[6]}
  end
  local is_final = record[3] == "succeeded" or record[3] == "dead" or record[3] == "cancelled"
  if is_final or record[2] ~= ARGV[4] or token < tonumber(record[4]) then
    return {"STALE", ""}
  end
  if record[9] == "1" and ARGV[6] ~= "succeeded" and ARGV[6] ~= "cancelled" then
    return {"CANCEL", ""}
  end
elseif tonumber(ARGV[3]) + tonumber(ARGV[17]) < now then
  return {"STALE", ""}
elseif not ARGV[18] then
  return {}
else
  redis.call("HSET", KEYS[2],
    "generation", ARGV[3], "submitted", ARGV[19], "submission", ARGV[18],
    "fingerprint", ARGV[20], "keyed", ARGV[21], "about", ARGV[22],
    "turn", ARGV[4], "attempt", ARGV[10], "losses", "0")
  record[7], record[8] = ARGV[19], ARGV[21]
end

-- The version before wrote dropped and process.
redis.call("HDEL", KEYS[2], "lease_until", "lease_limit", "source", "untold", "dropped", "process")
local settled = ARGV[4] .. "|" .. ARGV[5]
if ARGV[11] ~= "" then
  local turn = string.format("%.0f", tonumber(ARGV[4]) + 1)
  local member = ARGV[2] .. "|" .. ARGV[3] .. "|" .. turn .. "|turn"
  redis.call("HSET", KEYS[2],
    "status", ARGV[6], "token", ARGV[5], "settled", settled, "last", ARGV[7],
    "turn", turn, "waiting", ARGV[13])
  redis.call("ZADD", KEYS[3], ARGV[11], member)
  redis.call("HSET", KEYS[4], member, ARGV[12])
  return {"SETTLED", ""}
end
redis.call("HSET", KEYS[2],
  "status", ARGV[6], "token", ARGV[5], "settled", settled, "last", ARGV[7],
  "ending", ARGV[8], "result", ARGV[9])
if record[8] == "1" then
  local expires = math.max(
    now + tonumber(ARGV[15]), tonumber(record[7]) + tonumber(ARGV[14]))
  redis.call("ZADD", KEYS[5], expires, ARGV[2])
else
  redis.call("PEXPIRE", KEYS[2], ARGV[16])
end
return {"SETTLED", ""}
