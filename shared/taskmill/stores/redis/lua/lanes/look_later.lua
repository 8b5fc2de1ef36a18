#!lua flags=allow-oom
--[[
  Look at the records of tasks at a later time: only of those that are in flight as they were seen.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  After it for each task: member, the look that was seen, how long until the next look (ms)

  Returns
    COLD  the lane lost data, or may have: nothing was changed
    DONE  it is noted
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
load_state()
for at = 2, #ARGV, 3 do
  local look = call("ZSCORE", FLIGHT, ARGV[at])
  if look and whole(tonumber(look)) == ARGV[at + 1] then
    call("ZADD", FLIGHT, next_look(tonumber(ARGV[at + 2])), ARGV[at])
  end
end
save_state()
return "DONE"
