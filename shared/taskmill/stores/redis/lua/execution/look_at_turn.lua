#!lua flags=allow-oom
--[[
  Look at the record of a turn that is in flight, and close its lease if that has lapsed: nobody
  extends it afterwards.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's lifetimes
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id
  ARGV[3]  generation
  ARGV[4]  turn
  ARGV[5]  number of losses up to which it may run beside others
  ARGV[6]  age up to which a generation without a record is adopted (ms)
  ARGV[7]  how long a record that is over must last, or else it is kept longer (ms)
  ARGV[8]  how long it is then kept (ms)

  Returns {answer, …}
    COLD          the shard lost data, or may have; nothing was changed
    OVER, facts   it is over, or further than this turn: these facts may not be published
    LIVES, left   a lease lives for so long (ms), whoever holds it
    FREE, "1"     nobody runs it; "1" when it must run alone, else ""
    GONE          no record, and too old to adopt
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "losses", "lease_until", "source")
local generation, turn = tonumber(ARGV[3]), tonumber(ARGV[4])
local known, known_turn, status = tonumber(record[1]), tonumber(record[2]), record[3]
if not known then
  return generation + tonumber(ARGV[6]) < now and {"GONE"} or {"FREE", ""}
end
if known < generation then
  return {"FREE", ""}
end

local is_final = status == "succeeded" or status == "dead" or status == "cancelled"
if known > generation or is_final or known_turn > turn then
  -- The facts must outlast a log that is away.
  local left = redis.call("PTTL", KEYS[2])
  if left >= 0 and left < tonumber(ARGV[7]) then
    redis.call("PEXPIRE", KEYS[2], ARGV[8])
  end
  local expires = redis.call("ZSCORE", KEYS[3], ARGV[2])
  if expires and tonumber(expires) < now + tonumber(ARGV[7]) then
    redis.call("ZADD", KEYS[3], string.format("%.0f", now + tonumber(ARGV[8])), ARGV[2])
  end
  return {"OVER", redis.call("HGET", KEYS[2], "last") or ""}
end

local losses, lease_until = tonumber(record[4] or 0), tonumber(record[5])
if lease_until then
  if lease_until > now then
    return {"LIVES", string.format("%.0f", lease_until - now)}
  end
  redis.call("HSET", KEYS[2], "lease_until", "0")
  if known_turn == turn and (record[6] or "") ~= "" then
    losses = losses + 1
  end
end
return {"FREE", losses > tonumber(ARGV[5]) and "1" or ""}
