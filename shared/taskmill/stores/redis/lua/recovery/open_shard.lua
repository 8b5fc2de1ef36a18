#!lua
--[[
  Say that a shard lacks nothing, now that everything is restored.

  KEYS[1]  the shard's rebuild: word|run id
  KEYS[2]  the shard's marker
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuilder's own word

  Returns
    START AGAIN  the word is gone, or of another server: what was restored may be, too
    OPEN         the shard answers
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1] then
  return "START AGAIN"
end
redis.call("SET", KEYS[2], ARGV[1])
redis.call("DEL", KEYS[1])
return "OPEN"
