#!lua
--[[
  Give the right to run a turn to one record of the log.

  KEYS[1]   the shard's marker
  KEYS[2]   the task's record
  KEYS[3]   the shard's lifetimes
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   task id
  ARGV[3]   generation
  ARGV[4]   turn
  ARGV[5]   attempt
  ARGV[6]   source: topic|partition|offset|index of the envelope
  ARGV[7]   calling process
  ARGV[8]   length of a lease (ms)
  ARGV[9]   latest end of the lease, counted from its start (ms)
  ARGV[10]  "1" when nothing else runs in the process
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
    CLAIMED, token, losses, started, unreported losses, "1" when its cancel was requested
                                          the lease; a loss: token|losses|started|at in ms
    SUSPECT, losses                       it has losses: claim it alone; nothing was changed
    HELD                                  a live lease of the same record, or of an unknown holder
    REFUSED, facts                        another record holds it, or it is over: publish these facts
    FORGOTTEN                             no record, and too old to adopt
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local record = redis.call(
  "HMGET", KEYS[2], "generation", "turn", "status", "token", "lease_until", "source", "process",
  "losses", "dropped", "last", "started_at", "untold", "cancel_requested", "attempt",
  "first_started_at")
local generation, turn = tonumber(ARGV[3]), tonumber(ARGV[4])
local known = tonumber(record[1])
local status, token, source = record[3], tonumber(record[4] or 0), record[6] or ""
local last = record[10] or ""

if known and generation < known then
  return {"REFUSED", last}
end
if not known and generation + tonumber(ARGV[11]) < now then
  return {"FORGOTTEN"}
end

local losses, untold, dropped = 0, "", ""
if known == generation then
  local is_final = status == "succeeded" or status == "dead" or status == "cancelled"
  if is_final or turn < tonumber(record[2]) then
    return {"REFUSED", last}
  end
  losses = tonumber(record[8] or 0)
  if turn == tonumber(record[2]) then
    dropped, untold = record[9] or "", record[12] or ""
  end
  if record[5] and turn == tonumber(record[2]) then
    local lives = tonumber(record[5]) > now
    local is_same_process = source == ARGV[6] and record[7] == ARGV[7]
    if lives and source ~= "" and source ~= ARGV[6] then
      redis.call("HSET", KEYS[2], "dropped", dropped .. " " .. ARGV[6])
      return {"REFUSED", last}
    end
    if lives and not is_same_process then
      return {"HELD"}
    end
    if source ~= ARGV[6] and string.find(dropped .. " ", " " .. ARGV[6] .. " ", 1, true) then
      return {"REFUSED", last}
    end
    if source ~= "" and not is_same_process then
      losses = losses + 1
      untold = untold .. string.format(" %s|%d|%s|%.0f", record[4], losses, record[11] or "0", now)
    end
  end
  if losses > 0 and ARGV[10] ~= "1" then
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
  "status", "running", "token", fresh, "source", ARGV[6], "process", ARGV[7],
  "lease_until", string.format("%.0f", now + tonumber(ARGV[8])),
  "lease_limit", string.format("%.0f", now + tonumber(ARGV[9])),
  "started_at", started}
local function note(name, known_value, value)
  if value ~= known_value then
    fields[#fields + 1], fields[#fields + 2] = name, value
  end
end
-- Most tasks run as they were admitted: unchanged fields are not written again.
note("turn", record[2], ARGV[4])
note("attempt", record[14], ARGV[5])
note("losses", record[8], tostring(losses))
note("dropped", record[9] or "", dropped)
note("untold", record[12] or "", untold)
if record[11] and not record[15] then
  note("first_started_at", nil, record[11])
end
redis.call("HSET", KEYS[2], unpack(fields))
redis.call("PERSIST", KEYS[2])
return {"CLAIMED", fresh, tostring(losses), started, untold, record[13] or ""}
