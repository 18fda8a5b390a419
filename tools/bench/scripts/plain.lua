-- Frozen: figures are compared with it. A sale once per user, never oversold, as a careful shop
-- would script it.
-- KEYS: stock, orders by user and by request id
-- ARGV: user, request id
local known = redis.call('HMGET', KEYS[2], ARGV[1], ARGV[2])
if known[2] then
  return {'REPLAY', known[2]}
end
if known[1] then
  return {'ALREADY', known[1]}
end
local left = tonumber(redis.call('GET', KEYS[1]))
if left < 1 then
  return {'SOLDOUT'}
end
left = redis.call('DECR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2], ARGV[2], ARGV[1])
return {'GRANTED', left}
