#!lua flags=no-writes
--[[
  Name the keys that were found to be of another type than the queue gives them.

  KEYS[1]  what is noted: key -> when (ms)
  ARGV[2]  how many at the most; ahead of it stands the run id, which does not matter here

  Returns a flat list: key, how long ago in ms, key, …
]]
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local noted = redis.call("ZRANGE", KEYS[1], "0", tonumber(ARGV[2]) - 1, "WITHSCORES")
for index = 2, #noted, 2 do
  noted[index] = string.format("%.0f", now - tonumber(noted[index]))
end
return noted
