#!lua flags=allow-oom
--[[
  Note the keys whose type is not the one that the queue gave them. A record stays until it is
  replaced, since it concerns one task only. Any other key is deleted, and its shard becomes cold.

  KEYS[1]  the noted keys: key -> when it was found (ms)
  KEYS[2]  the shard's marker
  KEYS[3]  the shard's rebuild: nonce|run id
  After them: the keys to check
  In ARGV, for each of those: its type, or "record"

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
