#!lua flags=allow-oom
--[[
  Begin to rebuild a lane that lost data, or may have: empty it, and set a nonce in it.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's rebuild: nonce|run id
  KEYS[3]  the lane's state
  After them the other keys of the lane
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuild's nonce
  ARGV[3]  how long the nonce lives without being renewed (ms)

  Returns
    LIVE   the lane lost nothing
    BUSY   another process rebuilds it on this server
    BEGUN  the nonce is set, and the lane is empty and has a new epoch
]]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return "LIVE"
end
local under = "|" .. ARGV[1]
local holder = redis.call("GET", KEYS[2]) or ""
if string.sub(holder, -string.len(under)) == under then
  return "BUSY"
end
local time = redis.call("TIME")
redis.call("UNLINK", KEYS[1], unpack(KEYS, 3))
redis.call("HSET", KEYS[3], "epoch", string.format("%.0f", time[1] * 1000000 + time[2]))
redis.call("SET", KEYS[2], ARGV[2] .. under, "PX", ARGV[3])
return "BEGUN"
