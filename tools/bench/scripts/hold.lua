-- Frozen: figures are compared with it. A sale with reservations, once per user, as a careful shop
-- would script it; reservations that run out are somebody else's to end.
-- KEYS: stock, number of the last order, orders by user and by request id, deadlines, events
-- ARGV: user, request id, milliseconds that the reservation lasts
local known = redis.call('HMGET', KEYS[3], ARGV[1], ARGV[2])
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
local seq = redis.call('INCR', KEYS[2])
redis.call('HSET', KEYS[3], ARGV[1], seq, ARGV[2], seq)
local now = redis.call('TIME')
local deadline = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[3]
redis.call('ZADD', KEYS[4], deadline, ARGV[1])
redis.call('XADD', KEYS[5], '*', 'event', 'GRANT', 'user', ARGV[1], 'req', ARGV[2], 'seq', seq,
  'qty', 1, 'deadline', deadline, 'left', left)
return {'GRANTED', seq, 1, 'HELD', deadline, left}
