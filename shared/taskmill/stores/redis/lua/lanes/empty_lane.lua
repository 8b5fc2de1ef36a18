#!lua flags=allow-oom
--[[
  Empty a lane that is still closed. A rebuild that began since has deleted its state.

  KEYS[1]  the lane's state
  After it the other keys of the lane

  Returns
    OTHER  it is not closed any more
    EMPTY  it holds nothing, and stays closed
]]
if redis.call("HEXISTS", KEYS[1], "closed") == 0 then
  return "OTHER"
end
redis.call("UNLINK", unpack(KEYS, 2))
return "EMPTY"
