#!lua flags=allow-oom
--[[
  Delete a due entry after it was published and acknowledged.

  KEYS[1]  the shard's marker
  KEYS[2]  the task's record
  KEYS[3]  the shard's due set
  KEYS[4]  the bytes of the due entries
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  the due entry: id|generation|turn|kind
  ARGV[3]  generation of the due entry
  ARGV[4]  until when the caller held it (ms), or "" when it is cleared whoever holds it

  Returns
    COLD   the shard lost data, or may have; nothing was changed
    LATE   the hold ran out, or another has the entry; nothing was changed
    OTHER  cleared; the record is gone or has another generation
    DONE   cleared
]]
if redis.call("GET", KEYS[1]) ~= ARGV[1] then
  return "COLD"
end
-- A lane that was filled after a hold had run out counts on the entry, whether it was taken again
-- or not.
if ARGV[4] ~= "" then
  local time = redis.call("TIME")
  local now, hold = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[4])
  if hold <= now or tonumber(redis.call("ZSCORE", KEYS[3], ARGV[2]) or -1) ~= hold then
    return "LATE"
  end
end
redis.call("ZREM", KEYS[3], ARGV[2])
redis.call("HDEL", KEYS[4], ARGV[2])
if redis.call("HGET", KEYS[2], "generation") ~= ARGV[3] then
  return "OTHER"
end
return "DONE"
