#!lua flags=allow-oom
--[[
  Make owed entries due now that are missing from the due set.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's due set
  KEYS[3]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  cursor, "0" at first
  ARGV[3]  approximate number of entries to scan

  Returns {cursor, number of entries that are due now}; "0" when all were scanned, or when the
  shard lost data, or may have
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"0", 0}
end
if redis.call("HLEN", KEYS[3]) <= redis.call("ZCARD", KEYS[2]) then
  return {"0", 0}
end
local time = redis.call("TIME")
local now = string.format("%.0f", time[1] * 1000 + math.floor(time[2] / 1000))
local following, found = unpack(redis.call("HSCAN", KEYS[3], ARGV[2], "COUNT", ARGV[3]))
local listed = 0
for index = 1, #found, 2 do
  listed = listed + redis.call("ZADD", KEYS[2], "NX", now, found[index])
end
return {following, listed}
