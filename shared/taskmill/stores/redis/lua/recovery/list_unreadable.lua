#!lua flags=no-writes
--[[
  Return the keys whose type was found not to be the one that the queue gave them.

  KEYS[1]  the noted keys: key -> when it was found (ms)
  ARGV[2]  maximum number of keys; the run id before it is not used

  Returns a flat list: key, how long ago it was found in ms, key, …
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local noted = redis.call("ZRANGE", KEYS[1], "0", tonumber(ARGV[2]) - 1, "WITHSCORES")
for index = 2, #noted, 2 do
  noted[index] = string.format("%.0f", now - tonumber(noted[index]))
end
return noted
