#!lua
--[[
  Make the record of a task that was kept in the ledger only, because its line was full, or keep the
  record that it has.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation
  ARGV[4]   turn
  ARGV[5]   attempt
  ARGV[6]   largest known fencing token
  ARGV[7]   losses
  ARGV[8]   submission
  ARGV[9]   generation of the submission
  ARGV[10]  fingerprint of the request
  ARGV[11]  "1" when the id comes from a key, else ""
  ARGV[12]  the fields for readers (JSON)

  Returns
    COLD    the shard lost data, or may have; nothing was changed
    OVER    the task has moved on; nothing was changed
    QUEUED  it waits, and its record stays; or it runs, and its lane must have it
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "losses", "about")
redis.call("ZCARD", KEYS[3])
local generation, turn = tonumber(ARGV[3]), tonumber(ARGV[4])
local known, known_turn = tonumber(record[1]), tonumber(record[2])
local is_same = known == generation and known_turn == turn
if is_same and record[3] == "running" then
  return "QUEUED"
end
if known and (known > generation or known == generation
  and (not is_same or record[3] ~= "queued")) then
  return "OVER"
end
if known ~= generation or not record[6] then
  local losses = tonumber(ARGV[7])
  if known == generation then
    losses = math.max(losses, tonumber(record[5] or 0))
  end
  local token = math.max(tonumber(record[4] or 0), tonumber(ARGV[6]))
  redis.call("DEL", KEYS[2])
  redis.call("HSET", KEYS[2],
    "generation", ARGV[3], "submitted", ARGV[9], "turn", ARGV[4], "attempt", ARGV[5],
    "status", "queued", "submission", ARGV[8], "fingerprint", ARGV[10], "keyed", ARGV[11],
    "about", ARGV[12], "token", string.format("%.0f", token),
    "losses", string.format("%.0f", losses))
end
redis.call("HSET", KEYS[2], "shelved", "0")
redis.call("PERSIST", KEYS[2])
redis.call("ZREM", KEYS[3], ARGV[2])
return "QUEUED"
