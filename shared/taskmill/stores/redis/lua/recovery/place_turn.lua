#!lua flags=allow-oom
--[[
  Find where an unfinished turn belongs whose lane is rebuilt. A lease that has lapsed is closed:
  nobody extends it afterwards. A turn that waits for its time is owed if nobody owes it yet.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  task id
  ARGV[3]  generation, as the ledger has it
  ARGV[4]  turn, as the ledger has it
  ARGV[5]  when this turn is due (ms) if it waits for a time, else ""
  ARGV[6]  bytes of its due entry

  Returns {answer, …}
    COLD                                  the shard lost data, or may have; nothing was changed
    LIVES, generation, turn, attempt, left
                                          a lease of this turn of the record lives for so long (ms)
    OWED                                  the due set has this turn
    WAITS                                 nobody runs it: it waits in its line, or the claim finds
                                          that its record is further or over
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "lease_until", "source", "attempt")
local generation, turn, due = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local known, known_turn, status = tonumber(record[1]), tonumber(record[2]), record[3]
local lease_until = tonumber(record[4])
local is_early = due and due > now

if lease_until and lease_until > now then
  -- A lease without a source says little of a turn whose time is still ahead.
  if not is_early or (record[5] or "") ~= "" then
    local left = string.format("%.0f", lease_until - now)
    return {"LIVES", record[1], record[2], record[6] or "1", left}
  end
end

local is_final = status == "succeeded" or status == "dead" or status == "cancelled"
local is_further = known and (known > generation
  or (known == generation and (is_final or known_turn > turn)))
local answer = "WAITS"
if due and not is_further then
  local member = ARGV[2] .. "|" .. ARGV[3] .. "|" .. ARGV[4] .. "|turn"
  if redis.call("HEXISTS", KEYS[4], member) == 1 then
    answer = "OWED"
  elseif is_early then
    redis.call("ZADD", KEYS[3], "NX", ARGV[5], member)
    redis.call("HSET", KEYS[4], member, ARGV[6])
    answer = "OWED"
  end
end
if lease_until and lease_until <= now then
  redis.call("HSET", KEYS[2], "lease_until", "0")
end
return {answer}
