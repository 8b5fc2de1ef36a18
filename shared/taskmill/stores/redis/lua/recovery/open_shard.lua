#!lua flags=allow-oom
--[[
  Declare a shard complete after everything was restored.

  KEYS[1]  the shard's rebuild: nonce|run id
  KEYS[2]  the shard's marker
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuild's nonce

  Returns
    START AGAIN  the nonce is gone, or of another server: restored data may be gone, too
    OPEN         the shard is live
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1] then
  return "START AGAIN"
end
redis.call("SET", KEYS[2], ARGV[1])
redis.call("DEL", KEYS[1])
return "OPEN"
