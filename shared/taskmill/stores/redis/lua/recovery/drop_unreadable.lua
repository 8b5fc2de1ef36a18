#!lua
--[[
  Remove what stands in the place of a record and is none.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  ARGV[1]  run id of the server, as the connection knows it

  Returns
    COLD  the shard forgot, or may have; nothing was changed
    DONE  what stands there, if anything does, is a record
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
if redis.call("TYPE", KEYS[2])["ok"] ~= "hash" then
  redis.call("DEL", KEYS[2])
end
return "DONE"
