#!lua flags=no-writes
--[[
  Return a shard's health: whether its data is complete, and whether due entries are taken.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's rebuild: nonce|run id
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it

  Returns {answer, how long the first due entry has waited to be taken in ms, number of owed
  entries missing from the due set}
    LIVE        its data is complete
    REBUILDING  it lost data, or may have, and is being rebuilt
    COLD        it lost data, or may have, and nobody rebuilds it
]]
if redis.call("GET", KEYS[1]) == ARGV[1] then
  local time = redis.call("TIME")
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local first = redis.call("ZRANGE", KEYS[3], "0", "0", "WITHSCORES")
  local waited = math.max(0, now - tonumber(first[2] or now))
  local unlisted = redis.call("HLEN", KEYS[4]) - redis.call("ZCARD", KEYS[3])
  return {"LIVE", string.format("%.0f", waited), math.max(0, unlisted)}
end
local under = "|" .. ARGV[1]
local holder = redis.call("GET", KEYS[2]) or ""
if string.sub(holder, -string.len(under)) == under then
  return {"REBUILDING", "0", 0}
end
return {"COLD", "0", 0}
