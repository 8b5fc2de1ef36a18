#!lua flags=no-writes
--[[
  List a part of what a lane holds, in line or in flight, also of one that is closed.

  KEYS[1]  the lane's tasks
  ARGV[2]  where to go on, as the part before returned it; 0 for the first
  ARGV[3]  about how many

  Returns {where to go on, 0 after the last part; then for each task its member and its envelope}
]]
local place, found = unpack(redis.call("HSCAN", KEYS[1], ARGV[2], "COUNT", ARGV[3]))
local answer = {place}
for at = 1, #found, 2 do
  answer[at + 1] = found[at]
  answer[at + 2] = string.sub(found[at + 1], string.find(found[at + 1], "\n", 1, true) + 1)
end
return answer
