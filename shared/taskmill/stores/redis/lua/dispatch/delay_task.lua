#!lua
--[[
  Delay a task until its time: owe its turn to its worker, or leave it to the ledger alone.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's due set
  KEYS[4]   the bytes of the due entries
  KEYS[5]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation
  ARGV[4]   turn
  ARGV[5]   attempt
  ARGV[6]   when its turn is due (ms)
  ARGV[7]   when that was set (ms), or "" when the ledger sets it now
  ARGV[8]   how far ahead only the ledger keeps it (ms)
  ARGV[9]   how long the record of such a task is kept (ms)
  ARGV[10]  bytes of the turn's due entry
  ARGV[11]  age up to which a generation without a record is adopted, unless the ledger asks (ms)
  ARGV[12]  largest known fencing token
  ARGV[13]  losses
  ARGV[14]  submission
  ARGV[15]  generation of the submission
  ARGV[16]  fingerprint of the request
  ARGV[17]  "1" when the id comes from a key, else ""
  ARGV[18]  the fields for readers (JSON)

  Returns
    COLD       the shard lost data, or may have; nothing was changed
    OVER       the task has moved on; nothing was changed
    FORGOTTEN  no record, and too old to adopt; nothing was changed
    NEAR       it is owed at its time
    FAR        it is not owed: the ledger has it, and its record expires after a while
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "losses", "about")
redis.call("ZCARD", KEYS[3])
redis.call("HLEN", KEYS[4])
redis.call("ZCARD", KEYS[5])
local generation, turn, due = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6])
local known, known_turn, status = tonumber(record[1]), tonumber(record[2]), record[3]

if known == generation then
  local is_final = status == "succeeded" or status == "dead" or status == "cancelled"
  if is_final or known_turn > turn or (known_turn == turn and status ~= "scheduled") then
    return "OVER"
  end
elseif known and known > generation then
  return "OVER"
elseif not known and ARGV[7] ~= "" and generation + tonumber(ARGV[11]) < now then
  return "FORGOTTEN"
end

if known ~= generation or known_turn ~= turn or not record[6] then
  local losses = tonumber(ARGV[13])
  if known == generation then
    losses = math.max(losses, tonumber(record[5] or 0))
  end
  local token = math.max(tonumber(record[4] or 0), tonumber(ARGV[12]))
  redis.call("DEL", KEYS[2])
  redis.call("ZREM", KEYS[5], ARGV[2])
  redis.call("HSET", KEYS[2],
    "generation", ARGV[3], "submitted", ARGV[15], "turn", ARGV[4], "attempt", ARGV[5],
    "status", "scheduled", "submission", ARGV[14], "fingerprint", ARGV[16], "keyed", ARGV[17],
    "about", ARGV[18], "token", string.format("%.0f", token),
    "losses", string.format("%.0f", losses))
end

local span = tonumber(ARGV[8])
if due - (tonumber(ARGV[7]) or now) > span then
  if due - now > span and ARGV[17] == "1" then
    redis.call("ZADD", KEYS[5], now + tonumber(ARGV[9]), ARGV[2])
  elseif due - now > span then
    redis.call("PEXPIRE", KEYS[2], ARGV[9])
  end
  return "FAR"
end
local member = ARGV[2] .. "|" .. ARGV[3] .. "|" .. ARGV[4] .. "|turn"
redis.call("PERSIST", KEYS[2])
redis.call("ZREM", KEYS[5], ARGV[2])
redis.call("ZADD", KEYS[3], "NX", ARGV[6], member)
redis.call("HSETNX", KEYS[4], member, ARGV[10])
return "NEAR"
