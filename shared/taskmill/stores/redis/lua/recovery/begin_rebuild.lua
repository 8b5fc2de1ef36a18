#!lua flags=allow-oom
--[[
  Begin to rebuild a shard that lost data, or may have: set a nonce in it.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's rebuild: nonce|run id
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuild's nonce
  ARGV[3]  how long the nonce lives without being renewed (ms)

  Returns
    LIVE   the shard lost nothing
    BUSY   another process rebuilds it on this server
    BEGUN  the nonce is set, and the marker of another server is deleted
]]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return "LIVE"
end
local under = "|" .. ARGV[1]
local holder = redis.call("GET", KEYS[2]) or ""
if string.sub(holder, -string.len(under)) == under then
  return "BUSY"
end
redis.call("DEL", KEYS[1])
redis.call("SET", KEYS[2], ARGV[2] .. under, "PX", ARGV[3])
return "BEGUN"
