#!lua
--[[
  Shared part of the scripts on a lane, loaded in front of them: its lines, the tree over those that
  are open, and whom to wake. It only reads the clock; everything else is done by the scripts.

  A line is type, class, tenant, fairness key, gates, joined by tabs; class 0 is critical, 3 is low.
  A task that must run alone waits in a line of its type with "!" after it.

  Keys, after the lane's marker
    state     hash: epoch, counter, picks, revision of the rules, and when it was watched (ms): by a
              scheduler (ticked), by a worker (stood_in)
    tasks     hash: member -> order (16 digits), line, "\n", envelope; until it leaves the lane
    lines     zset: line, order, member: what waits, in order
    open      zset: the tree: level, path, rank, name. Levels: 1 tenants of a type and class (rank:
              turn), 2 their fairness keys (rank: turn), 3 lines of such a key (rank: order of the
              head). It has every line in which a task waits. An only child that was emptied by a
              withdrawal stays until a take finds it empty, or nothing waits in the lane: its parents'
              ranks are not known then
    flight    zset: member -> when its record is looked at next
    rules     hash: "lane=*" or "type=<type>" -> until when it is paused (ms), 0 for no end
    taking    zset: type, partition -> when a process of this partition took last (ms)
    woken     zset: type, partition -> when a wake-up was sent there (ms)
    promises  zset: type, partition -> until when a process waits for a ring (ms)
    sizes     hash: line -> bytes of the envelopes that wait in it; "" -> of all that wait
    shelf     hash: line -> order of the task that was shelved last. While it names a line, what is
              new to it is shelved
  After these, as the last keys of a script that wakes: for each partition of each of its types a
  list, in which a ring is one element
]]
local call, insert, sub, match, T = redis.call, table.insert, string.sub, string.match, "\t"
local STATE, TASKS, LINES, OPEN, FLIGHT, RULES, TAKING, WOKEN, PROMISES, SIZES, SHELF = unpack(
  KEYS, 2, 12)
local TASKS_A_PROCESS, ASKS_WITHIN, STARTS_WITHIN, RING_STAYS = 8, 2000, 1000, 2000
local MOST_AHEAD = 60000
local time = call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local counter, saved = 0, 0

-- A time far ahead was noted by a clock that has gone back since, as after a failover: it is none.
local function noted(at)
  at = tonumber(at or 0)
  return at > now + MOST_AHEAD and 0 or at
end

local function whole(number)
  return string.format("%.0f", number)
end

local function under(key, prefix, count, offset)
  return call(
    "ZRANGE", key, "[" .. prefix, "(" .. prefix .. "\255", "BYLEX", "LIMIT", offset or 0, count)
end

-- The arguments of one call are limited.
local function many(command, key, words)
  for from = 1, #words, 2000 do
    call(command, key, unpack(words, from, math.min(#words, from + 1999)))
  end
end

local function load_state(...)
  local values = call("HMGET", STATE, "counter", ...)
  counter = tonumber(values[1] or 0)
  saved = counter
  return unpack(values, 2, 1 + select("#", ...))
end

local function save_state(...)
  if counter ~= saved or select("#", ...) > 0 then
    call("HSET", STATE, "counter", counter, ...)
  end
end

local function next_turn()
  counter = counter + 1
  return string.format("%016d", counter)
end

-- No two looks of a member are equal: whoever compares one knows that nothing came between.
local function next_look(span)
  counter = counter + 1
  return whole((now + span) * 1000 + counter % 1000)
end

-- What is held of a task: its order, its line, its envelope. Where a pattern would go through the
-- whole envelope, this finds the line's end.
local function opened(task)
  local stop = string.find(task, "\n", 17, true)
  return sub(task, 1, 16), sub(task, 17, stop - 1), sub(task, stop + 1)
end

local function split(line)
  return {match(line, "^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)$")}
end

local function path_of(fields, level)
  return level .. table.concat(fields, T, 1, level + 1) .. T
end

-- The order of a line's first task.
local function head_of(line)
  local head = under(LINES, line .. T, 1)[1]
  return head and sub(head, #line + 2, #line + 17)
end

-- A node that has a child is known to its parent. Returns whether this one had any.
local function add_child(fields, level, rank)
  local path = path_of(fields, level)
  local had = under(OPEN, path, 2)
  if level == 3 and #had == 1 and not head_of(sub(path, 2) .. sub(had[1], #path + 18)) then
    call("ZREM", OPEN, had[1])
  end
  call("ZADD", OPEN, 0, path .. rank .. T .. fields[level + 2])
  return #had > 0
end

-- Rank a line by the order of its first task; *head* is what it was before, if there was one.
local function rank_line(line, order, head)
  local fields = split(line)
  if head then
    local path, name = path_of(fields, 3), fields[5]
    call("ZREM", OPEN, path .. head .. T .. name)
    call("ZADD", OPEN, 0, path .. order .. T .. name)
  elseif not add_child(fields, 3, order) and not add_child(fields, 2, next_turn()) then
    add_child(fields, 1, next_turn())
  end
end

-- Put tasks into a line: a list of order, member, order, member …
local function line_up(line, tasks)
  local head, first, entries = head_of(line), tasks[1], {}
  for at = 1, #tasks, 2 do
    insert(entries, 0)
    insert(entries, line .. T .. tasks[at] .. T .. tasks[at + 1])
    first = tasks[at] < first and tasks[at] or first
  end
  if not head or first < head then
    rank_line(line, first, head)
  end
  many("ZADD", LINES, entries)
end

-- Note that what waits has grown: line -> by how many bytes.
local function grow(changes)
  local names, total = {""}, 0
  for line, bytes in pairs(changes) do
    insert(names, line)
    total = total + bytes
  end
  if #names == 1 then
    return
  end
  changes[""] = total
  local kept, emptied = {}, {}
  for index, bytes in ipairs(call("HMGET", SIZES, unpack(names))) do
    local line = names[index]
    local size = tonumber(bytes or 0) + changes[line]
    if size > 0 then
      insert(kept, line)
      insert(kept, whole(size))
    else
      insert(emptied, line)
    end
  end
  many("HSET", SIZES, kept)
  many("HDEL", SIZES, emptied)
end

local function is_paused(type)
  for _, latest in ipairs(call("HMGET", RULES, "lane=*", "type=" .. type)) do
    if latest == "0" or latest and tonumber(latest) > now then
      return true
    end
  end
  return false
end

-- The tasks of a type that wait, and those of them that must run alone: they stand after the others,
-- since no name of a type comes between "\t" and "!".
local function count_waiting(type)
  local alone, last = type .. "!" .. T, "(" .. type .. "!" .. T .. "\255"
  local waiting = call("ZLEXCOUNT", LINES, "[" .. type .. T, last)
  return waiting, waiting > 0 and call("ZLEXCOUNT", LINES, "[" .. alone, last) or 0
end

-- The list in which a ring for each partition is put, by type and partition.
local function rings_of(types)
  local names, rings = {}, {}
  for type, count in string.gmatch(types, "([^=;]+)=(%d+)") do
    for partition = 0, count - 1 do
      insert(names, type .. T .. partition)
    end
  end
  for index, name in ipairs(names) do
    rings[name] = KEYS[#KEYS - #names + index]
  end
  return rings
end

local function ring(key)
  if call("LLEN", key) == 0 then
    call("RPUSH", key, "1")
    call("PEXPIRE", key, RING_STAYS)
  end
end

-- Ring for processes that promised to ask, at most so many, and add to the answer where others are to
-- be started.
local function wake_some(answer, type, partitions, wanted, most_rings, rings)
  local names, idle = {}, {}
  for partition = 0, partitions - 1 do
    insert(names, type .. T .. partition)
  end
  local promises = call("ZMSCORE", PROMISES, unpack(names))
  for index, name in ipairs(names) do
    if most_rings > 0 and noted(promises[index]) >= now then
      ring(rings[name])
      wanted, most_rings = wanted - 1, most_rings - 1
    end
  end
  if wanted == 0 then
    return
  end
  local taking, woken = call("ZMSCORE", TAKING, unpack(names)), call("ZMSCORE", WOKEN, unpack(names))
  for index, name in ipairs(names) do
    local asks = noted(taking[index]) > now - ASKS_WITHIN
    local starts = noted(woken[index]) > now - STARTS_WITHIN
    if not asks and starts then
      wanted = wanted - 1
    elseif not asks then
      insert(idle, name)
    end
  end
  for index = 1, math.min(wanted, #idle) do
    call("ZADD", WOKEN, now, idle[index])
    insert(answer, idle[index])
  end
end

-- Wake processes for what waits. *types* is "type=partitions;…". Nobody is rung for a task that must
-- run alone: a process that runs others cannot take it, and would be rung again after each take.
local function wake(answer, types)
  local rings = nil
  for type, count in string.gmatch(types, "([^=;]+)=(%d+)") do
    local waiting, alone = count_waiting(type)
    local partitions = tonumber(count)
    if waiting > 0 and not is_paused(type) then
      rings = rings or rings_of(types)
      local wanted = math.min(math.ceil(waiting / TASKS_A_PROCESS), partitions)
      local most_rings = math.min(math.ceil((waiting - alone) / TASKS_A_PROCESS), partitions)
      wake_some(answer, type, partitions, wanted, most_rings, rings)
    end
  end
  return answer
end
