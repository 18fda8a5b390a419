-- Frozen: figures are compared with it. A sale with reservations, once per user, as a careful shop
-- would script it; reservations that run out are somebody else's to end.
-- KEYS: stock, number of the last order, orders, deadlines, events
-- ARGV: user, request id, milliseconds that the reservation lasts
local left = tonumber(redis.call('GET', KEYS[1]))
local order = redis.call('HGET', KEYS[3], ARGV[1])
if order then
  local seq, req = string.match(order, '^(%d+):(.*)$')
  return {req == ARGV[2] and 'REPLAY' or 'ALREADY', seq}
end
if left < 1 then
  return {'SOLDOUT'}
end
left = redis.call('DECR', KEYS[1])
local seq = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[1], seq .. ':' .. ARGV[2])
local now = redis.call('TIME')
local deadline = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[3]
redis.call('ZADD', KEYS[4], deadline, ARGV[1])
redis.call('XADD', KEYS[5], '*', 'event', 'GRANT', 'user', ARGV[1], 'req', ARGV[2], 'seq', seq,
  'qty', 1, 'deadline', deadline, 'left', left)
return {'GRANTED', seq, 1, 'HELD', deadline, left}
