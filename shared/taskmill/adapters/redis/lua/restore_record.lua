#!lua
--[[
  Put into a cold shard what the ledger knows of a task. What the server still has of it stays where
  the ledger is neither closed nor further in its life.

  KEYS[1]   the shard's rebuild: word|run id
  KEYS[2]   the shard's marker
  KEYS[3]   the task's record
  KEYS[4]   the shard's due set
  KEYS[5]   the bytes of the due entries
  KEYS[6]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   the rebuilder's own word
  ARGV[3]   task id
  ARGV[4]   generation
  ARGV[5]   turn
  ARGV[6]   status
  ARGV[7]   largest token that was ever told
  ARGV[8]   losses
  ARGV[9]   "1" when it is to be cancelled, else ""
  ARGV[10]  when its turn is due (ms), or ""
  ARGV[11]  bytes of the turn's due entry, or ""
  ARGV[12]  length of a lease (ms)
  ARGV[13]  how long a key is kept after submission (ms)
  ARGV[14]  how long a key is kept at least after the end of its task (ms)
  ARGV[15]  how long the record of an unkeyed task is kept after its end (ms)
  ARGV[16]  "1" when the ledger alone keeps it until its time comes near, else ""
  ARGV[17]  how long the record of such a one is kept without a key (ms)
  Behind them: the fields of the record, each followed by its value

  Returns
    START AGAIN  the word is gone, the server is another, or the shard is open; nothing was changed
    RESTORED     the record says what the ledger says
    KEPT         the record says what it said
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1]
  or redis.call("EXISTS", KEYS[2]) == 1 then
  return "START AGAIN"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call(
  "HMGET", KEYS[3], "generation", "turn", "status", "token", "losses", "submitted", "keyed",
  "about")
redis.call("ZCARD", KEYS[4])
redis.call("HLEN", KEYS[5])
redis.call("ZCARD", KEYS[6])

local function is_final(status)
  return status == "succeeded" or status == "dead" or status == "cancelled"
end

local born, told = tonumber(known[1] or -1), tonumber(ARGV[4])
local is_further = told > born
if told == born then
  is_further = is_final(ARGV[6])
    or (not is_final(known[3]) and tonumber(ARGV[5]) > tonumber(known[2]))
    or (known[2] == ARGV[5] and not known[8] and ARGV[16] ~= "1")
end
local token = string.format("%.0f", math.max(tonumber(known[4] or 0), tonumber(ARGV[7])))
local losses = tonumber(ARGV[8])
if told == born then
  losses = math.max(losses, tonumber(known[5] or 0))
elseif not is_further then
  losses = tonumber(known[5] or 0)
end

if is_further then
  if known[2] and ARGV[6] == "scheduled" then
    local member = ARGV[3] .. "|" .. known[1] .. "|" .. known[2] .. "|turn"
    redis.call("ZREM", KEYS[4], member)
    redis.call("HDEL", KEYS[5], member)
  end
  redis.call("DEL", KEYS[3])
  redis.call("ZREM", KEYS[6], ARGV[3])
  redis.call("HSET", KEYS[3], unpack(ARGV, 18))
  redis.call("HSET", KEYS[3], "generation", ARGV[4], "turn", ARGV[5], "status", ARGV[6])
  known = redis.call("HMGET", KEYS[3], "generation", "turn", "status", "token", "losses",
    "submitted", "keyed")
end
redis.call("HSET", KEYS[3], "token", token, "losses", string.format("%.0f", losses))
local answer = is_further and "RESTORED" or "KEPT"

if ARGV[16] == "1" and known[3] == "scheduled" then
  if is_further and known[7] ~= "1" then
    redis.call("PEXPIRE", KEYS[3], ARGV[17])
  end
elseif not is_final(known[3]) then
  redis.call("PERSIST", KEYS[3])
  redis.call("HSET", KEYS[3], "source", "", "process", "",
    "lease_until", string.format("%.0f", now + tonumber(ARGV[12])))
  if known[1] == ARGV[4] and ARGV[9] == "1" then
    redis.call("HSET", KEYS[3], "cancel_requested", "1")
  end
  local waits = known[3] == "retrying" or known[3] == "scheduled"
  if known[1] == ARGV[4] and known[2] == ARGV[5] and waits and ARGV[10] ~= "" then
    local member = ARGV[3] .. "|" .. ARGV[4] .. "|" .. ARGV[5] .. "|turn"
    redis.call("ZADD", KEYS[4], "NX", ARGV[10], member)
    redis.call("HSETNX", KEYS[5], member, ARGV[11])
  end
elseif is_further and known[7] == "1" then
  local expires = math.max(
    now + tonumber(ARGV[14]), tonumber(known[6]) + tonumber(ARGV[13]))
  redis.call("ZADD", KEYS[6], expires, ARGV[3])
elseif is_further then
  redis.call("PEXPIRE", KEYS[3], ARGV[15])
end
return answer
