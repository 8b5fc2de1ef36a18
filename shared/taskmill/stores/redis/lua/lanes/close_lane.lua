#!lua flags=allow-oom
--[[
  Close a lane, as if it had lost data: nothing enters it, and nothing is taken. It keeps what it holds.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's state
  ARGV[1]  run id of the server, as the connection knows it

  Returns
    COLD    it lost data, or may have, or is being rebuilt
    CLOSED  it is closed, now or since an earlier call
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return redis.call("HEXISTS", KEYS[2], "closed") == 1 and "CLOSED" or "COLD"
end
redis.call("HSET", KEYS[2], "closed", 1)
redis.call("DEL", KEYS[1])
return "CLOSED"
