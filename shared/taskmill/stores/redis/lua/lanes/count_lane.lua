#!lua flags=no-writes
--[[
  Count what a lane holds of one type.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the type

  Returns {"COLD"} when the lane lost data, or may have; else
  {number and oldest order (or "") of what waits: critical, high, normal, low, alone; number in
  flight; when a process took last (ms) or ""; until when it is paused (ms): "0" for no end, or ""}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local MOST_LINES = 1000
local answer = {}

-- The oldest head of the first lines. One that was emptied may still be in the tree: it is passed
-- over.
local function oldest_under(prefix)
  local oldest = ""
  for _, entry in ipairs(under(OPEN, "3" .. prefix, MOST_LINES)) do
    local order = match(entry, "\t(%d+)\t[^\t]*$")
    if oldest == "" or order < oldest then
      local path, gates = match(entry, "^3(.*\t)%d+\t([^\t]*)$")
      oldest = head_of(path .. gates) and order or oldest
    end
  end
  return oldest
end

local function count(prefix)
  insert(answer, call("ZLEXCOUNT", LINES, "[" .. prefix, "(" .. prefix .. "\255"))
  insert(answer, oldest_under(prefix))
end

for class = 0, 3 do
  count(ARGV[2] .. T .. class .. T)
end
count(ARGV[2] .. "!" .. T)
local last = 0
local taking = call("ZRANGE", TAKING, 0, -1, "WITHSCORES")
for at = 1, #taking, 2 do
  if match(taking[at], "^[^\t]*") == ARGV[2] then
    last = math.max(last, tonumber(taking[at + 1]))
  end
end
insert(answer, call("ZCARD", FLIGHT))
insert(answer, last > 0 and whole(last) or "")
local paused = ""
for _, latest in ipairs(call("HMGET", RULES, "lane=*", "type=" .. ARGV[2])) do
  if latest and (latest == "0" or tonumber(latest) > now) and paused ~= "0" then
    paused = latest == "0" and latest or paused > latest and paused or latest
  end
end
insert(answer, paused)
return answer
