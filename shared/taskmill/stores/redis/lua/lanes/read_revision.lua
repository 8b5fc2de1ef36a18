#!lua flags=no-writes
--[[
  Read which rules a lane has.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's state
  ARGV[1]  run id of the server, as the connection knows it

  Returns COLD when the lane lost data, or may have; else the revision of its rules, 0 for none
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
return redis.call("HGET", KEYS[2], "revision") or "0"
