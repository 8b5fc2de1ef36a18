#!lua flags=no-writes
--[[
  Find lines that less waits in than half of what they may hold.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  After it how much waits at most: six numbers, as room.lua has them
  After them the lines

  Returns {"COLD"} when the lane lost data, or may have; else {"LIVE", line …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local lines, answer = {unpack(ARGV, 8)}, {"LIVE"}
load_sizes(lines)
for _, line in ipairs(lines) do
  if has_room(line, 0.5) then
    insert(answer, line)
  end
end
return answer
