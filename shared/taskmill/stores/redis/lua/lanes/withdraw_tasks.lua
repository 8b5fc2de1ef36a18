#!lua flags=allow-oom
--[[
  Withdraw tasks that wait in their lines; what is in flight stays, for a worker may run it.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  epoch that the caller knew before it changed the records
  After them the members

  Returns
    COLD    the lane lost data, or may have: nothing was changed
    OTHER   it has another epoch: nothing was changed
    number  how many were withdrawn
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
if load_state("epoch") ~= ARGV[2] then
  return "OTHER"
end

-- A line that was emptied leaves the tree, unless it is an only child and something else waits.
local function forget_head(line, order)
  local head = head_of(line)
  if head then
    rank_line(line, head, order)
  else
    local fields = split(line)
    local path = path_of(fields, 3)
    if #under(OPEN, path, 2) > 1 then
      call("ZREM", OPEN, path .. order .. T .. fields[5])
    end
  end
end

local count, sizes = 0, {}
for at = 3, #ARGV do
  local member = ARGV[at]
  local task = call("HGET", TASKS, member)
  if task and not call("ZSCORE", FLIGHT, member) then
    local order, line, envelope = opened(task)
    local head = head_of(line)
    call("ZREM", LINES, line .. T .. order .. T .. member)
    call("HDEL", TASKS, member)
    if order == head then
      forget_head(line, order)
    end
    sizes[line] = (sizes[line] or 0) - #envelope
    count = count + 1
  end
end
grow(sizes)
if call("EXISTS", LINES) == 0 then
  call("UNLINK", OPEN)
end
return whole(count)
