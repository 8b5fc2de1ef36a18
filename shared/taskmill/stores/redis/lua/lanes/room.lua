#!lua
--[[
  Shared part of the scripts that ask for room in a lane, loaded in front of them, after lines.lua.
  The caller's arguments say how much waits at most: tasks and bytes of a line, of the lane, and of
  a line that may always grow.
]]
local LINE_TASKS, LINE_BYTES, LANE_TASKS, LANE_BYTES, SMALL_TASKS, SMALL_BYTES = unpack(
  {tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]),
    tonumber(ARGV[7])})
local lane_tasks, lane_bytes, counts, added, bytes_of = call("ZCARD", LINES), 0, {}, {}, {}

local function load_sizes(lines)
  lane_bytes = tonumber(call("HGET", SIZES, "") or 0)
  if #lines > 0 then
    for index, bytes in ipairs(call("HMGET", SIZES, unpack(lines))) do
      bytes_of[lines[index]] = tonumber(bytes or 0)
    end
  end
end

local function count_of(line)
  if not counts[line] then
    counts[line] = call("ZLEXCOUNT", LINES, "[" .. line .. T, "(" .. line .. T .. "\255")
  end
  return counts[line] + (added[line] or 0)
end

-- Whether a line may grow, when it may hold only this part of what a line may hold.
local function has_room(line, part)
  if lane_tasks < math.min(LINE_TASKS * part, LANE_TASKS)
    and lane_bytes < math.min(LINE_BYTES * part, LANE_BYTES) then
    return true -- no line of the lane holds more than the lane
  end
  if lane_tasks >= 2 * LANE_TASKS or lane_bytes >= 2 * LANE_BYTES then
    return false
  end
  local tasks, bytes = count_of(line), bytes_of[line]
  if tasks < SMALL_TASKS * part and bytes < SMALL_BYTES * part then
    return true
  end
  return lane_tasks < LANE_TASKS and lane_bytes < LANE_BYTES
    and tasks < LINE_TASKS * part and bytes < LINE_BYTES * part
end

local function add(line, bytes)
  lane_tasks, lane_bytes = lane_tasks + 1, lane_bytes + bytes
  bytes_of[line], added[line] = bytes_of[line] + bytes, (added[line] or 0) + 1
end
