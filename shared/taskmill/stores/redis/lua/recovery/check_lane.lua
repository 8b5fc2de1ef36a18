#!lua flags=no-writes
--[[
  Return whether a lane's data is complete, and if not, whether somebody rebuilds it.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's rebuild: nonce|run id
  ARGV[1]  run id of the server, as the connection knows it

  Returns
    LIVE        its data is complete
    REBUILDING  it lost data, or may have, and is being rebuilt
    COLD        it lost data, or may have, and nobody rebuilds it
]]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return "LIVE"
end
local under = "|" .. ARGV[1]
local holder = redis.call("GET", KEYS[2]) or ""
if string.sub(holder, -string.len(under)) == under then
  return "REBUILDING"
end
return "COLD"
