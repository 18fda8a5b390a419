seckill completions fish | source
