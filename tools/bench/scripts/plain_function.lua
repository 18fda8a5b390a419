#!lua name=shop
-- Frozen: figures are compared with it. plain.lua as a function.
redis.register_function('grab', function(keys, args)
  local known = redis.call('HMGET', keys[2], args[1], args[2])
  if known[2] then
    return {'REPLAY', known[2]}
  end
  if known[1] then
    return {'ALREADY', known[1]}
  end
  local left = tonumber(redis.call('GET', keys[1]))
  if left < 1 then
    return {'SOLDOUT'}
  end
  left = redis.call('DECR', keys[1])
  redis.call('HSET', keys[2], args[1], args[2], args[2], args[1])
  return {'GRANTED', left}
end)
