#!lua name=shop
-- Frozen: figures are compared with it. plain.lua as a function.
redis.register_function('grab', function(keys, args)
  local left = tonumber(redis.call('GET', keys[1]))
  if left > 0 and redis.call('HSETNX', keys[2], args[1], args[2]) == 1 then
    return {'GRANTED', redis.call('DECR', keys[1])}
  end
  local req = redis.call('HGET', keys[2], args[1])
  if not req then
    return {'SOLDOUT'}
  end
  return {req == args[2] and 'REPLAY' or 'ALREADY'}
end)
