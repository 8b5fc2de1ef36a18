#!lua flags=no-writes
--[[
  Return whether a shard's data is complete.

  KEYS[1]  the shard's marker
  ARGV[1]  run id of the server, as the connection knows it

  Returns COLD when it lost data, or may have; else LIVE
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
return "LIVE"
