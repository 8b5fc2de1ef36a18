#!lua
--[[
  Delete a due entry after it was published and acknowledged.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the due entry: id|generation|turn|kind
  ARGV[3]  generation of the due entry

  Returns
    COLD   the shard lost data, or may have; nothing was changed
    OTHER  cleared; the record is gone or has another generation
    DONE   cleared
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
redis.call("ZREM", KEYS[3], ARGV[2])
redis.call("HDEL", KEYS[4], ARGV[2])
if redis.call("HGET", KEYS[2], "generation") ~= ARGV[3] then
  return "OTHER"
end
return "DONE"
