#!lua flags=allow-oom
--[[
  Put unfinished tasks into a lane that is rebuilt: in flight while a lease of theirs lives, else in
  line. A first turn is shelved when its line is full.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  KEYS[13] the lane's rebuild: nonce|run id
  ARGV[1]  run id of the server, as the connection knows it
  After it how much waits at most: six numbers, as room.lua has them
  ARGV[8]  the rebuild's nonce
  After them for each task: member, order, line, envelope, how long until its record is looked at
  (ms), or "" for a task that waits; without an envelope it is on the shelf already

  Returns
    START AGAIN  the nonce is gone, the server changed, or the lane is live: nothing was changed
    digits       for each task, "1" (in the lane) or "0" (on the shelf)
]]
if redis.call("GET", KEYS[13]) ~= ARGV[8] .. "|" .. ARGV[1]
  or redis.call("EXISTS", KEYS[1]) == 1 then
  return "START AGAIN"
end
load_state()
local FIRST = 9
local lines, in_order, waiting, sizes, marks, on_shelf = {}, {}, {}, {}, {}, {}
for at = FIRST, #ARGV, 5 do
  local line = ARGV[at + 2]
  if not waiting[line] then
    waiting[line] = {}
    insert(lines, line)
  end
end
load_sizes(lines)
if #lines > 0 then
  for index, order in ipairs(call("HMGET", SHELF, unpack(lines))) do
    on_shelf[lines[index]] = order
  end
end

local function is_shelved(member, line, envelope, look)
  if envelope == "" then
    return true
  end
  return look == "" and sub(member, -2) == "|1" and (on_shelf[line] or not has_room(line, 1))
end

local function place(member, order, line, envelope, look)
  if call("HSETNX", TASKS, member, order .. line .. "\n" .. envelope) == 0 then
    return
  end
  if look ~= "" then
    call("ZADD", FLIGHT, next_look(tonumber(look)), member)
    return
  end
  if #waiting[line] == 0 then
    insert(in_order, line)
  end
  insert(waiting[line], order)
  insert(waiting[line], member)
  add(line, #envelope)
  sizes[line] = (sizes[line] or 0) + #envelope
end

for at = FIRST, #ARGV, 5 do
  local member, order, line, envelope, look = unpack(ARGV, at, at + 4)
  if is_shelved(member, line, envelope, look) then
    if not on_shelf[line] or order > on_shelf[line] then
      on_shelf[line] = order
      call("HSET", SHELF, line, order)
    end
    insert(marks, "0")
  else
    place(member, order, line, envelope, look)
    insert(marks, "1")
  end
end
for _, line in ipairs(in_order) do
  line_up(line, waiting[line])
end
grow(sizes)
save_state()
return table.concat(marks)
