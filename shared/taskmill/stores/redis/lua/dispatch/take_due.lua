#!lua flags=allow-oom
--[[
  Take due entries for publication: each is hidden for a while, and due again if its taker dies.

  KEYS[1]  the shard's marker
  KEYS[2]  the shard's due set
  KEYS[3]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  maximum number
  ARGV[3]  how long the caller may take to publish (ms)

  Returns {"COLD"} when the shard lost data, or may have; else the moment until which the caller
  holds the entries (ms), and a flat list of these: {hold, entry, bytes, entry, bytes …}
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return {"COLD"}
end
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local hold = string.format("%.0f", now + tonumber(ARGV[3]))
local taken = {hold}
for _, member in ipairs(
  redis.call("ZRANGE", KEYS[2], "-inf", now, "BYSCORE", "LIMIT", "0", ARGV[2])) do
  redis.call("ZADD", KEYS[2], hold, member)
  taken[#taken + 1] = member
  taken[#taken + 1] = redis.call("HGET", KEYS[3], member) or ""
end
return taken
