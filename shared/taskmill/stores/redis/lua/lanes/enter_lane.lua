#!lua
--[[
  Let tasks enter a lane. One that is in it already, waiting or in flight, stays as it is. A first
  turn is shelved when its line is full, or while the shelf names its line.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  After it how much waits at most: six numbers, as room.lua has them
  ARGV[8]  the lane's types: type=partitions;…
  ARGV[9]  "past" to shelve nothing; "shelf" for tasks of the shelf in their order, which enter while
           there is room; else ""
  After them for each task: member, order, line, envelope; without an envelope it is over, and stood
  on the shelf

  Returns {"COLD"} when the lane lost data, or may have: nothing was changed; else
  {"1" (in the lane, or over) or "0" (shelved, or still on the shelf) for each task, where to start a
  process: type, tab, partition …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
load_state()
local mode, FIRST = ARGV[9], 10
local members, lines, names, in_order = {}, {}, {}, {}
for at = FIRST, #ARGV, 4 do
  local line = ARGV[at + 2]
  insert(members, ARGV[at])
  if not lines[line] then
    lines[line] = {}
    insert(names, line)
  end
end
local known, on_shelf, last, full = call("HMGET", TASKS, unpack(members)), {}, {}, {}
load_sizes(names)
for index, order in ipairs(call("HMGET", SHELF, unpack(names))) do
  on_shelf[names[index]] = order
end

-- Whether a task may enter. Of the shelf, nothing passes a task that stays there.
local function may_enter(member, line)
  if mode == "past" or sub(member, -2) ~= "|1" then
    return true
  end
  if full[line] or mode == "" and on_shelf[line] or not has_room(line, 1) then
    full[line] = mode == "shelf"
    return false
  end
  return true
end

-- The shelf of a line is closed by the task that was shelved last.
local function note_brought(line, order)
  if on_shelf[line] and order >= on_shelf[line] then
    on_shelf[line] = nil
    call("HDEL", SHELF, line)
  end
end

local function note_shelved(line, order)
  if not on_shelf[line] or order > on_shelf[line] then
    on_shelf[line], last[line] = order, order
  end
end

local marks, entering, tasks, sizes = {}, {}, {}, {}
for index, member in ipairs(members) do
  local at = FIRST + 4 * (index - 1)
  local order, line, envelope = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local mark = (known[index] or envelope == "") and "1" or entering[member]
  if not mark then
    mark = may_enter(member, line) and "1" or "0"
    entering[member] = mark
    if mark == "1" then
      if #lines[line] == 0 then
        insert(in_order, line)
      end
      add(line, #envelope)
      sizes[line] = (sizes[line] or 0) + #envelope
      insert(lines[line], order)
      insert(lines[line], member)
      insert(tasks, member)
      insert(tasks, order .. line .. "\n" .. envelope)
    end
  end
  insert(marks, mark)
  if mode == "shelf" and mark == "1" and not full[line] then
    note_brought(line, order)
  elseif mode == "" and mark == "0" then
    note_shelved(line, order)
  end
end
many("HSET", TASKS, tasks)
for _, line in ipairs(in_order) do
  line_up(line, lines[line])
end
grow(sizes)
for line, order in pairs(last) do
  call("HSET", SHELF, line, order)
end
save_state()
return wake({table.concat(marks)}, ARGV[8])
