#!lua flags=allow-oom
--[[
  Take what may start now, and let go of what has left: its last facts are in the log.

  KEYS[1]   the lane's marker; after it the keys of lines.lua
  ARGV[1]   run id of the server, as the connection knows it
  ARGV[2]   the lane's types: type=partitions;…
  ARGV[3]   the types to take: type;…
  ARGV[4]   how many tasks at most
  ARGV[5]   whether one may be taken that must run alone: "first", "last" (if there is no other), or ""
  ARGV[6]   the caller's partition, or "" for a scheduler
  ARGV[7]   how long the caller waits for a ring (ms); 0 if it does not, -1 if it ends. It does not wait
            if it got as many as it asked for
  ARGV[8]   how long a taken task has until its record is looked at (ms)
  ARGV[9]   how many bytes of envelopes are enough
  ARGV[10]  epoch that the caller knew before it asked for the records of what leaves, or ""
  After them the members that leave

  Returns {"COLD"} when the lane lost data, or may have: nothing was changed; else
  {epoch, "1" when nobody has watched the lane for a while or "", "1" when nobody but the caller is
  there for what is in flight or "", "1" when the one that was taken must run alone or "", how many
  were taken, member, look, envelope …, where to start a process: type, tab, partition …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local WATCHED_WITHIN, OLD, FIRST_STEP, LARGEST_STEP, MOST_EMPTIED = 2000, 60000, 16, 32, 200
local epoch, picks, ticked = load_state("epoch", "picks", "ticked")
local most, enough = tonumber(ARGV[4]), tonumber(ARGV[9])
picks = tonumber(picks or 0)

-- 1. What leaves. Only what is in flight can: under another epoch the record said nothing of it.
if ARGV[10] == epoch and #ARGV > 10 then
  local members, leaving = {unpack(ARGV, 11)}, {}
  for index, look in ipairs(call("ZMSCORE", FLIGHT, unpack(members))) do
    if look then
      insert(leaving, members[index])
    end
  end
  many("ZREM", FLIGHT, leaving)
  many("HDEL", TASKS, leaving)
end

-- 2. What is picked. The tree's changes are kept until somebody reads what they change.
local gone, new, stale = {}, {}, {}
local picked, heads_gone, offsets, sizes = {}, {}, {}, {}
-- Withdrawals leave emptied nodes. So many are removed here at most, so that a take ends in time; the
-- caller is rung, or the tick wakes somebody, for what waits after more of them.
local emptied = 0

local function write_tree()
  many("ZREM", OPEN, gone)
  many("ZADD", OPEN, new)
  gone, new, stale = {}, {}, {}
end

local function children(path, count)
  if stale[path] then
    write_tree()
  end
  return under(OPEN, path, count)
end

-- Answers how many were taken from a line, and the order of its next task.
local function take_line(path, want)
  local heads = under(LINES, path, want + 1, offsets[path])
  local taken = math.min(#heads, want)
  for index = 1, taken do
    insert(heads_gone, heads[index])
    insert(picked, sub(heads[index], #path + 18))
  end
  offsets[path] = (offsets[path] or 0) + taken
  return taken, heads[taken + 1] and sub(heads[taken + 1], #path + 1, #path + 16)
end

-- A round: the first children of a node have a turn each; an only child has all of them. It ends
-- where one that had its turn comes before the next. Answers how many were taken, and whether
-- something is left below the node. (Only digits are compared: letters compare as the server's
-- locale says.)
local function take_node(level, path, want)
  local taken, is_left = 0, false
  repeat
    local entries, least = children(path, want - taken + 1), nil
    is_left = false
    for _, entry in ipairs(entries) do
      local rank, name, count, next_rank = sub(entry, #path + 1, #path + 16), sub(entry, #path + 18)
      if taken == want or emptied == MOST_EMPTIED or least and least <= rank then
        is_left = true
        break
      end
      local below, share = sub(path, 2) .. name .. T, #entries == 1 and want - taken or 1
      if level == 3 then
        count, next_rank = take_line(below, share)
      else
        count, next_rank = take_node(level + 1, level + 1 .. below, share)
        next_rank = next_rank and (#entries == 1 and rank or next_turn())
      end
      taken = taken + count
      if next_rank ~= rank then
        insert(gone, entry)
        stale[path] = true
        if next_rank then
          insert(new, 0)
          insert(new, path .. next_rank .. T .. name)
        elseif count == 0 and level == 3 then
          emptied = emptied + 1
        end
      end
      if next_rank and (not least or next_rank < least) then
        least = next_rank
      end
      is_left = is_left or next_rank
    end
  until taken == want or emptied == MOST_EMPTIED or #entries == 0
  return taken, is_left or children(path, 1)[1]
end

-- The class of a type that is served next, and the turn of its first tenant.
local function first_class(type, from)
  local path = "1" .. type .. T
  write_tree()
  local entry = call(
    "ZRANGE", OPEN, "[" .. path .. from, "(" .. path .. "\255", "BYLEX", "LIMIT", 0, 1)[1]
  return entry and sub(entry, #path + 1, #path + 1), entry and sub(entry, #path + 1, #path + 18)
end

-- The order of the task that a class would serve next.
local function next_order(type, class)
  local path = "1" .. type .. T .. class .. T
  local tenant = sub(children(path, 1)[1] or "", #path + 18)
  path = "2" .. sub(path, 2) .. tenant .. T
  local key = sub(children(path, 1)[1] or "", #path + 18)
  path = "3" .. sub(path, 2) .. key .. T
  return tonumber(sub(children(path, 1)[1] or "", #path + 1, #path + 16)) or math.huge
end

-- Of the classes after the first, take from the one whose next task is the oldest, if it is old.
local function take_old(type, class)
  local oldest, best = (now - OLD) * 1000, nil
  class = first_class(type, class + 1)
  while class do
    local order = next_order(type, class)
    if order < oldest then
      oldest, best = order, class
    end
    class = first_class(type, class + 1)
  end
  return best and (take_node(1, "1" .. type .. T .. best .. T, 1)) or 0
end

-- Of several types, the one whose first class is the highest, and in it whose tenant waits longest.
-- Every eighth pick may go to a lower class.
local function take_from(types, want)
  local taken = 0
  while taken < want do
    local best, least, class
    for _, type in ipairs(types) do
      local its_class, head = first_class(type, "")
      if head and (not least or head < least) then
        best, least, class = type, head, its_class
      end
    end
    if not best then
      return taken
    end
    local has_lower, count = first_class(best, class + 1), 0
    if has_lower and picks % 8 == 7 then
      count = take_old(best, class)
    end
    if count == 0 then
      local share = has_lower and math.max(7 - picks % 8, 1) or want
      share = #types == 1 and math.min(want - taken, share) or 1
      count = take_node(1, "1" .. best .. T .. class .. T, share)
    end
    taken, picks = taken + count, picks + count
    if count == 0 and emptied == MOST_EMPTIED then
      return taken
    end
  end
  return taken
end

local ordinary, alone = {}, {}
for type in string.gmatch(ARGV[3], "[^;]+") do
  if most > 0 and not is_paused(type) then
    insert(ordinary, type)
    insert(alone, type .. "!")
  end
end
local answer, flight, bytes = {epoch or "", "", "", "", 0}, {}, 0

local function answer_with(members)
  for index, task in ipairs(call("HMGET", TASKS, unpack(members))) do
    if task then -- else somebody else deleted it
      local look, _, line, envelope = next_look(tonumber(ARGV[8])), opened(task)
      sizes[line] = (sizes[line] or 0) - #envelope
      bytes = bytes + #envelope
      insert(answer, members[index])
      insert(answer, look)
      insert(answer, envelope)
      insert(flight, look)
      insert(flight, members[index])
    end
  end
end

-- Take in steps: the first tasks show how many more are of the right size together.
local function take(types, want)
  local step, before = FIRST_STEP, 0
  repeat
    before = #picked
    take_from(types, math.min(want - before, step))
    if #picked > before then
      answer_with({unpack(picked, before + 1)})
      local fitting = math.floor((enough - bytes) * #picked / math.max(bytes, 1))
      step = math.min(LARGEST_STEP, math.max(fitting, 1))
    end
  until #picked == before or #picked >= want or bytes >= enough
end

local function take_alone()
  take(alone, 1)
  answer[4] = #picked > 0 and "1" or ""
end

if ARGV[5] == "first" then
  take_alone()
end
if #picked == 0 then
  take(ordinary, most)
end
if #picked == 0 and ARGV[5] == "last" then
  take_alone()
end

-- Whether nobody has watched since then for a while, or the clock has gone back.
local function is_unwatched(since)
  local ago = now - tonumber(since or 0)
  return ago > WATCHED_WITHIN or ago < -WATCHED_WITHIN
end

-- Whether a process of another partition asks the lane, too.
local function is_in_company(name)
  local from, to = "(" .. whole(now - ASKS_WITHIN), whole(now + MOST_AHEAD)
  for _, other in ipairs(call("ZRANGE", TAKING, from, to, "BYSCORE", "LIMIT", 0, 2)) do
    if other ~= name then
      return true
    end
  end
  return false
end

-- 3. Write what has changed, and note who asked.
write_tree()
many("ZREM", LINES, heads_gone)
many("ZADD", FLIGHT, flight)
grow(sizes)
if #picked > 0 then
  save_state("picks", picks % 8)
else
  save_state()
end
answer[5] = #flight / 2
if ARGV[6] ~= "" then
  local name, waits = match(ARGV[3], "^[^;]*") .. T .. ARGV[6], tonumber(ARGV[7])
  local is_full = #picked == most and most > 0
  call("ZREM", WOKEN, name)
  if waits < 0 and #picked == 0 then
    call("ZREM", TAKING, name)
  else
    call("ZADD", TAKING, now, name)
  end
  if waits > 0 and not is_full then
    call("ZADD", PROMISES, now + waits, name)
  elseif call("ZREM", PROMISES, name) == 1 then
    local ring = rings_of(ARGV[2])[name]
    if ring then -- else the type is gone, or it has fewer partitions now
      call("DEL", ring)
    end
  end
  if is_unwatched(ticked) then
    answer[2] = is_unwatched(call("HGET", STATE, "stood_in")) and "1" or ""
    answer[3] = call("ZCARD", FLIGHT) > 0 and not is_in_company(name) and "1" or ""
  end
end
return wake(answer, ARGV[2])
