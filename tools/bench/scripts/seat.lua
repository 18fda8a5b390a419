-- Frozen: figures are compared with it. A hall whose seats are sold once, one to a user, as a careful
-- shop would script it.
-- KEYS: bitmap of the seats that are taken, orders by user and by request id, users by seat
-- ARGV: user, request id, number of the last seat, the seat that is wanted (none: the lowest free)
local known = redis.call('HMGET', KEYS[2], ARGV[1], ARGV[2])
if known[2] then
  return {'REPLAY', known[2]}
end
if known[1] then
  return {'ALREADY', known[1]}
end
local last, seat = tonumber(ARGV[3]), tonumber(ARGV[4])
if seat then
  if seat < 1 or seat > last then
    return redis.error_reply('ERR no such seat')
  end
  if redis.call('GETBIT', KEYS[1], seat) == 1 then
    return {'TAKEN', seat}
  end
else
  seat = redis.call('BITPOS', KEYS[1], 0)
  if seat > last then
    return {'SOLDOUT'}
  end
end
redis.call('SETBIT', KEYS[1], seat, 1)
redis.call('HSET', KEYS[2], ARGV[1], seat, ARGV[2], seat)
redis.call('HSET', KEYS[3], seat, ARGV[1])
return {'GRANTED', seat}
