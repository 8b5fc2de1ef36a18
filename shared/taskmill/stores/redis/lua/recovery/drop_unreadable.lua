#!lua flags=allow-oom
--[[
  Delete the value at a record's key if it is not a record.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  ARGV[1]  run id of the server, as the connection knows it

  Returns
    COLD  the shard lost data, or may have; nothing was changed
    DONE  the key is now absent or holds a record
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
if redis.call("TYPE", KEYS[2])["ok"] ~= "hash" then
  redis.call("DEL", KEYS[2])
end
return "DONE"
