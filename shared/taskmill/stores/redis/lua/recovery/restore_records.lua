#!lua flags=allow-oom
--[[
  Restore tasks of a cold shard from the ledger. A record that the server still has stays, unless
  the ledger is further along or knows the end of the task.

  KEYS[1]  the shard's rebuild: nonce|run id
  KEYS[2]  the shard's marker
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  KEYS[5]  the shard's lifetimes
  After them: the record of each task
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuild's nonce
  ARGV[3]  length of a lease (ms)
  ARGV[4]  how long a key is kept after submission (ms)
  ARGV[5]  how long a key is kept at least after the end of its task (ms)
  ARGV[6]  how long the record of an unkeyed task is kept after its end (ms)
  ARGV[7]  how long the unkeyed record of a task that only the ledger keeps is kept (ms)
  After them, for each task: task id, generation, turn, status, largest known fencing token, losses,
  "1" when it must be cancelled or "", when its turn is due (ms) or "", bytes of the turn's due
  entry or "", "1" when only the ledger keeps it until its time or room comes or "", generation of the
  submission, "1" when the id comes from a key or "", the number of values that follow: fields of
  the record, each with its value

  Returns
    START AGAIN  the nonce is gone, the server changed, or the shard is open; nothing was changed
    or for each task
    RESTORED     the record matches the ledger
    KEPT         the record is unchanged
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1]
  or redis.call("EXISTS", KEYS[2]) == 1 then
  return "START AGAIN"
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lease_until = string.format("%.0f", now + tonumber(ARGV[3]))
redis.call("ZCARD", KEYS[3])
redis.call("HLEN", KEYS[4])
redis.call("ZCARD", KEYS[5])

local function is_final(status)
  return status == "succeeded" or status == "dead" or status == "cancelled"
end

local function restore(key, at)
  local id, generation, turn, status, told_token, told_losses, cancel_requested, due_at, owed, far,
    submitted, keyed, words = unpack(ARGV, at, at + 12)
  if redis.call("TYPE", key)["ok"] ~= "hash" then
    redis.call("DEL", key)
  end
  local known = redis.call(
    "HMGET", key, "generation", "turn", "status", "token", "losses", "about")
  local is_same_life = known[1] == generation
  local is_as_told = is_same_life and known[2] == turn and known[3] == status
    and known[4] == told_token and known[5] == told_losses and known[6]
  local is_further = tonumber(generation) > tonumber(known[1] or -1)
  if is_same_life then
    is_further = (is_final(status) and not is_as_told)
      or (not is_final(known[3]) and tonumber(turn) > tonumber(known[2]))
      or (known[2] == turn and not known[6] and far ~= "1")
  end

  local token = string.format("%.0f", math.max(tonumber(known[4] or 0), tonumber(told_token)))
  local losses = tonumber(is_further and told_losses or known[5] or 0)
  if is_same_life then
    losses = math.max(tonumber(told_losses), tonumber(known[5] or 0))
  end
  losses = string.format("%.0f", losses)
  if is_further then
    if known[1] and status == "scheduled" then
      local member = id .. "|" .. known[1] .. "|" .. known[2] .. "|turn"
      redis.call("ZREM", KEYS[3], member)
      redis.call("HDEL", KEYS[4], member)
    end
    if known[1] then
      redis.call("DEL", key)
      redis.call("ZREM", KEYS[5], id)
    end
    redis.call("HSET", key, "generation", generation, "turn", turn, "status", status,
      "token", token, "losses", losses, unpack(ARGV, at + 13, at + 12 + tonumber(words)))
    known = {generation, turn, status}
  elseif not is_as_told then
    redis.call("HSET", key, "token", token, "losses", losses)
  end

  if far == "1" and (known[3] == "scheduled" or known[3] == "queued") then
    if is_further and keyed ~= "1" then
      redis.call("PEXPIRE", key, ARGV[7])
    end
  elseif not is_final(known[3]) then
    redis.call("PERSIST", key)
    redis.call("HSET", key, "source", "", "lease_until", lease_until)
    if known[1] == generation and cancel_requested == "1" then
      redis.call("HSET", key, "cancel_requested", "1")
    end
    local waits = known[3] == "retrying" or known[3] == "scheduled"
    if known[1] == generation and known[2] == turn and waits and due_at ~= "" then
      local member = id .. "|" .. generation .. "|" .. turn .. "|turn"
      redis.call("ZADD", KEYS[3], "NX", due_at, member)
      redis.call("HSETNX", KEYS[4], member, owed)
    end
  elseif (is_further or is_as_told) and keyed == "1" then
    local expires = math.max(now + tonumber(ARGV[5]), tonumber(submitted) + tonumber(ARGV[4]))
    redis.call("ZADD", KEYS[5], expires, id)
  elseif is_further or is_as_told then
    redis.call("PEXPIRE", key, ARGV[6])
  end
  return is_further and "RESTORED" or "KEPT"
end

local answers, at = {}, 8
for number = 6, #KEYS do
  answers[#answers + 1] = restore(KEYS[number], at)
  at = at + 13 + tonumber(ARGV[at + 12])
end
return answers
