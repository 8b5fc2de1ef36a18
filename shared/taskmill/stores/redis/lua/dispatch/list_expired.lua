#!lua flags=no-writes
--[[
  List the tasks whose records have expired.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's lifetimes
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  maximum number

  Returns the ids; none when the shard lost data, or may have
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call("ZRANGE", KEYS[2], "-inf", now, "BYSCORE", "LIMIT", "0", ARGV[2])
