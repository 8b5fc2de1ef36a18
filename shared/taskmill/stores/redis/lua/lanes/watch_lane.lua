#!lua flags=allow-oom
--[[
  Answer with the tasks in flight whose records are to be looked at; others look at them later.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the lane's types: type=partitions;…
  ARGV[3]  how many at most
  ARGV[4]  how long the caller may take (ms)
  ARGV[5]  who watches: "ticked" for a scheduler, "stood_in" for a worker

  Returns {"COLD"} when the lane lost data, or may have: nothing was changed; else
  {epoch, "1" when nothing waits or is in flight or "", number of tasks, member, look, envelope …,
  where to start a process: type, tab, partition …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local NOTED_FOR, FURTHEST_LOOK = 500, 900000
local epoch, watched_at = load_state("epoch", ARGV[5])
-- Several watch: a time that one of them has just noted stays, which spares the server a write.
local note = {}
if math.abs(now - tonumber(watched_at or 0)) > NOTED_FOR then
  note = {ARGV[5], whole(now)}
end
local is_empty = call("EXISTS", LINES, FLIGHT) == 0
local answer, flight = {epoch or "", is_empty and "1" or "", 0}, {}
if is_empty then
  save_state(unpack(note))
  return answer
end
local function in_flight(from, to)
  return call("ZRANGE", FLIGHT, from, to, "BYSCORE", "LIMIT", "0", ARGV[3])
end
-- A look that is further ahead than any can be was set by a clock that has gone back since.
local members = in_flight(whole((now + FURTHEST_LOOK) * 1000), "+inf")
if #members == 0 then
  members = in_flight("-inf", whole(now * 1000))
end
if #members > 0 then
  for index, task in ipairs(call("HMGET", TASKS, unpack(members))) do
    local look, envelope = next_look(tonumber(ARGV[4])), task and select(3, opened(task)) or ""
    for _, word in ipairs({members[index], look, envelope}) do
      insert(answer, word)
    end
    insert(flight, look)
    insert(flight, members[index])
  end
end
answer[3] = #members
many("ZADD", FLIGHT, flight)
save_state(unpack(note))
return wake(answer, ARGV[2])
