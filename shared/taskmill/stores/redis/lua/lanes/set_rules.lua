#!lua flags=allow-oom
--[[
  Set the rules of a lane, unless it has these or newer ones; also while it is rebuilt.

  KEYS[1]  the lane's marker; after it the keys of lines.lua
  KEYS[13] the lane's rebuild: nonce|run id
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the lane's types: type=partitions;…; empty to wake nobody
  ARGV[3]  revision of the rules
  After them for each rule: "lane=*" or "type=<type>", until when it pauses (ms), 0 for no end

  Returns {"COLD"} when the lane lost data, or may have: nothing was changed, or nobody is woken; else
  {number of tasks that wait in the lane, where to start a process: type, tab, partition …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  local server = "|" .. ARGV[1]
  if sub(call("GET", KEYS[13]) or "", -#server) ~= server then
    return {"COLD"}
  end
end
local revision = load_state("revision")
if tonumber(revision or 0) < tonumber(ARGV[3]) then
  call("DEL", RULES)
  many("HSET", RULES, {unpack(ARGV, 4)})
  call("HSET", STATE, "revision", ARGV[3])
end
if call("EXISTS", KEYS[1]) == 0 then
  return {"COLD"}
end
return wake({whole(call("ZCARD", LINES))}, ARGV[2])
