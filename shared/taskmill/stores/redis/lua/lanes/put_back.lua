#!lua flags=allow-oom
--[[
  Put tasks that nobody runs back into their lines, at their old order: only those that are in
  flight as they were seen.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the lane's types: type=partitions;…
  After them for each task: member, the look that was seen, "1" if it must run alone or ""

  Returns {"COLD"} when the lane lost data, or may have: nothing was changed; else
  {"1" (put back) or "0" for each task, where to start a process: type, tab, partition …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
load_state()
local marks, sizes = {}, {}
for at = 3, #ARGV, 3 do
  local member, task = ARGV[at], nil
  local look = call("ZSCORE", FLIGHT, member)
  if look and whole(tonumber(look)) == ARGV[at + 1] then
    task = call("HGET", TASKS, member)
  end
  insert(marks, task and "1" or "0")
  if task then
    local order, line, envelope = opened(task)
    if ARGV[at + 2] == "1" and not match(line, "^[^\t]*!\t") then
      line = string.gsub(line, "\t", "!\t", 1)
      call("HSET", TASKS, member, order .. line .. "\n" .. envelope)
    end
    call("ZREM", FLIGHT, member)
    line_up(line, {order, member})
    sizes[line] = (sizes[line] or 0) + #envelope
  end
end
grow(sizes)
save_state()
return wake({table.concat(marks)}, ARGV[2])
