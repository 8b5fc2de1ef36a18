#!lua flags=allow-oom
--[[
  Give the right to run a turn to one take.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation
  ARGV[4]   turn
  ARGV[5]   attempt
  ARGV[6]   source: the name of the take
  ARGV[7]   until when this take may claim (ms): later the turn may be somebody else's; "" if
            nobody looks at it
  ARGV[8]   length of a lease (ms)
  ARGV[9]   latest end of the lease, counted from its start (ms)
  ARGV[10]  number of losses up to which it may run beside others, or "" when it runs alone
  ARGV[11]  age up to which a generation without a record is adopted (ms)
  What a record is created from, which may be omitted at first:
  ARGV[12]  submission
  ARGV[13]  generation of the submission
  ARGV[14]  fingerprint of the request
  ARGV[15]  "1" when the id comes from a key, else ""
  ARGV[16]  the fields for readers (JSON)

  Returns {} when a record must be created and these were omitted: nothing was changed; else
  {answer, …}
    COLD                                  the shard lost data, or may have; nothing was changed
    LATE                                  the time of this take is over; nothing was changed
    CLAIMED, token, losses, started, unreported losses, "1" when its cancel was requested
                                          the lease; a loss: token|losses|started|at in ms; the
                                          same for the same take while its lease lives
    SUSPECT, losses                       it has too many losses: claim it alone; nothing was changed
    HELD                                  a live lease of another take, or of an unknown holder
    OVER, facts                           it is over, or further than this turn: publish these facts
    FORGOTTEN                             no record, and too old to adopt
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[7] ~= "" and now > tonumber(ARGV[7]) then
  return {"LATE"}
end
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "lease_until", "source", "losses",
  "last", "started_at", "untold", "cancel_requested", "attempt", "first_started_at")
local generation, turn = tonumber(ARGV[3]), tonumber(ARGV[4])
local known, known_turn = tonumber(record[1]), tonumber(record[2])
local status, token, last = record[3], tonumber(record[4] or 0), record[8] or ""

if known and generation < known then
  return {"OVER", last}
end
if not known and generation + tonumber(ARGV[11]) < now then
  return {"FORGOTTEN"}
end

local lease_until = string.format("%.0f", now + tonumber(ARGV[8]))
local losses, untold = 0, ""
if known == generation then
  local is_final = status == "succeeded" or status == "dead" or status == "cancelled"
  if is_final or turn < known_turn then
    return {"OVER", last}
  end
  losses = tonumber(record[7] or 0)
  local is_own = turn == known_turn and record[6] == ARGV[6]
  if tonumber(record[5] or 0) > now then
    if not is_own then
      return {"HELD"}
    end
    -- The reply was lost. A call that arrives after its repetition finds the same token, too.
    redis.call("HSET", KEYS[2], "lease_until", lease_until)
    return {
      "CLAIMED", record[4], tostring(losses), record[9] or "0", record[10] or "", record[11] or ""}
  end
  if turn == known_turn then
    untold = record[10] or ""
    if record[5] and (record[6] or "") ~= "" and not is_own then
      losses = losses + 1
      untold = untold .. string.format(" %s|%d|%s|%.0f", record[4], losses, record[9] or "0", now)
    end
  end
  if ARGV[10] ~= "" and losses > tonumber(ARGV[10]) then
    return {"SUSPECT", tostring(losses)}
  end
elseif not ARGV[12] then
  return {}
else
  record = {}
  redis.call("DEL", KEYS[2])
  redis.call("ZREM", KEYS[3], ARGV[2])
  redis.call("HSET", KEYS[2],
    "generation", ARGV[3], "submitted", ARGV[13], "submission", ARGV[12],
    "fingerprint", ARGV[14], "keyed", ARGV[15], "about", ARGV[16])
end

local fresh = string.format("%.0f", math.max(token + 1, time[1] * 1000000 + time[2]))
local started = string.format("%.0f", now)
local fields = {
  "status", "running", "token", fresh, "source", ARGV[6], "lease_until", lease_until,
  "lease_limit", string.format("%.0f", now + tonumber(ARGV[9])), "started_at", started}
local function note(name, known_value, value)
  if value ~= known_value then
    fields[#fields + 1], fields[#fields + 2] = name, value
  end
end
-- Most tasks run as they were admitted: unchanged fields are not written again.
note("turn", record[2], ARGV[4])
note("attempt", record[12], ARGV[5])
note("losses", record[7], tostring(losses))
note("untold", record[10] or "", untold)
if record[9] and not record[13] then
  note("first_started_at", nil, record[9])
end
redis.call("HSET", KEYS[2], unpack(fields))
redis.call("PERSIST", KEYS[2])
return {"CLAIMED", fresh, tostring(losses), started, untold, record[11] or ""}
