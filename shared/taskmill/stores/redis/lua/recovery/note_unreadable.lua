#!lua
--[[
  Note the keys that are of another type than the queue gives them. A record stays as it is until it
  is replaced: it is the trouble of one task. Any other is removed, and its shard forgot.

  KEYS[1]  what is noted: key -> when (ms)
  KEYS[2]  the shard's marker
  KEYS[3]  the shard's rebuild: word|run id
  Behind them: the keys to look at
  For each of those, in ARGV: its type, or "record"

  Returns the keys that were not noted before
]]
local time = redis.call("TIME")
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))

local function is_of_another_type(key, wanted)
  local found = redis.call("TYPE", key)["ok"]
  return found ~= "none" and found ~= wanted
end

local wrong, forgot = {}, false
for index, wanted in ipairs({"zset", "string", "string", unpack(ARGV)}) do
  local key = KEYS[index]
  if is_of_another_type(key, wanted == "record" and "hash" or wanted) then
    wrong[#wrong + 1] = key
    if wanted ~= "record" then
      redis.call("DEL", key)
      forgot = forgot or key ~= KEYS[1]
    end
  end
end
if forgot then
  redis.call("DEL", KEYS[2], KEYS[3])
end
local fresh = {}
for _, key in ipairs(wrong) do
  if redis.call("ZADD", KEYS[1], "NX", now, key) == 1 then
    fresh[#fresh + 1] = key
  end
end
return fresh
