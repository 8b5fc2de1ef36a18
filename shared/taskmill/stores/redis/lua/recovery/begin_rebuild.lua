#!lua
--[[
  Begin to rebuild a shard that forgot, or may have: put an own word into it.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's rebuild: word|run id
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuilder's own word
  ARGV[3]  how long the word stays without being renewed (ms)

  Returns
    LIVE   the shard forgot nothing
    BUSY   another one rebuilds it on this server
    BEGUN  the word is there, and what the marker of another server said is gone
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
