#!lua
--[[
  Shared part of the scripts that are called for many records of a shard at once. Such a script
  stands in front of this part, as the body of the function `once`: it sees its own KEYS and ARGV,
  and what fails for one record changes nothing for the others.

  KEYS     those of the script without its second, the record; after them one record for each call
  ARGV[1]  run id of the server, as the connection knows it
  ARGV[2]  how many keys the script has without the record
  After them, for each call, how many arguments it has after the run id, and these

  Returns what the script returned for each call, or its error
]]
local shared, from, answers = tonumber(ARGV[2]), 3, {}
for at = shared + 1, #KEYS do
  local keys = {KEYS[1], KEYS[at], unpack(KEYS, 2, shared)}
  local count = tonumber(ARGV[from])
  local is_done, answer = pcall(once, keys, {ARGV[1], unpack(ARGV, from + 1, from + count)})
  if not is_done and type(answer) == "string" then
    answer = {err = "ERR " .. answer}
  end
  answers[#answers + 1] = answer or false -- a nil would end the list
  from = from + count + 1
end
return answers
