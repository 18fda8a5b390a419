-- Frozen: figures are compared with it. A sale once per user, never oversold; who has won is kept
-- with their request id. The order of its calls is the cheapest: three for who wins, two for others.
-- KEYS: stock, orders
-- ARGV: user, request id
local left = tonumber(redis.call('GET', KEYS[1]))
if left > 0 and redis.call('HSETNX', KEYS[2], ARGV[1], ARGV[2]) == 1 then
  return {'GRANTED', redis.call('DECR', KEYS[1])}
end
local req = redis.call('HGET', KEYS[2], ARGV[1])
if not req then
  return {'SOLDOUT'}
end
return {req == ARGV[2] and 'REPLAY' or 'ALREADY'}
