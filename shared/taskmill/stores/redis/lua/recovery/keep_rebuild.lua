#!lua
--[[
  Renew the word of a rebuild while it is there, or take it back.

  KEYS[1]  the shard's rebuild: word|run id
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the rebuilder's own word
  ARGV[3]  how long the word stays without being renewed (ms); 0: no longer

  Returns
    START AGAIN  the word is gone, or of another server: what was restored may be, too
    KEPT         it stays
]]
if redis.call("GET", KEYS[1]) ~= ARGV[2] .. "|" .. ARGV[1] then
  return "START AGAIN"
end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
return "KEPT"
