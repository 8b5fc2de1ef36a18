#!lua flags=allow-oom
--[[
  Renew the nonce of a rebuild while it exists, or delete it.

  KEYS[1]  the shard's rebuild: nonce|run id
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuild's nonce
  ARGV[3]  how long the nonce lives without being renewed (ms); 0 deletes it

  Returns
    START AGAIN  the nonce is gone, or of another server: restored data may be gone, too
    KEPT         it stays
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1] then
  return "START AGAIN"
end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return "KEPT"
