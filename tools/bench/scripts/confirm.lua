-- Frozen: figures are compared with it. A reservation of hold.lua is paid.
-- KEYS: stock, orders by user and by request id, deadlines, events
-- ARGV: user, request id
local seq = redis.call('HGET', KEYS[2], ARGV[2])
if not seq then
  return {'NOGRANT', 0, 0, 0}
end
local deadline = redis.call('ZSCORE', KEYS[3], ARGV[1])
if not deadline then
  return {'SOLD', seq, 1, 0}
end
local now = redis.call('TIME')
if now[1] * 1000 + math.floor(now[2] / 1000) >= tonumber(deadline) then
  return {'EXPIRED', seq, 1, 0}
end
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('XADD', KEYS[4], '*', 'event', 'CONFIRM', 'user', ARGV[1], 'req', ARGV[2], 'seq', seq,
  'qty', 1, 'deadline', deadline, 'left', redis.call('GET', KEYS[1]))
return {'SOLD', seq, 1, 0}
