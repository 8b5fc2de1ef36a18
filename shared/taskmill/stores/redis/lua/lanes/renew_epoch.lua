#!lua flags=allow-oom
--[[
  Give a living lane a new epoch: what was read of records before says nothing of its tasks.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's state
  ARGV[1]  run id of the server, as the connection knows it

  Returns COLD when the lane lost data, or may have; else DONE
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
local time, last = redis.call("TIME"), tonumber(redis.call("HGET", KEYS[2], "epoch") or 0)
local epoch = math.max(time[1] * 1000000 + time[2], last + 1)
redis.call("HSET", KEYS[2], "epoch", string.format("%.0f", epoch))
return "DONE"
