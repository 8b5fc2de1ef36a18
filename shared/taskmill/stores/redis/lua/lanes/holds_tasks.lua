#!lua flags=no-writes
--[[
  Report which tasks a lane holds, in line or in flight.

  KEYS[1]  the lane's marker
  KEYS[2]  the lane's tasks
  ARGV[1]  run id of the server, as the connection knows it
  After it the members

  Returns {"COLD"} when the lane lost data, or may have; else for each member 1 or 0
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local answer = {}
for at = 2, #ARGV do
  answer[at - 1] = redis.call("HEXISTS", KEYS[2], ARGV[at])
end
return answer
