#!/usr/bin/env python3
"""Sends a sale's outbox to a topic of RocketMQ: send_rocketmq.py TOPIC --stream KEY [--redis URL ...]

An entry is acknowledged in Redis only after the proxy has accepted it. ROCKETMQ names the proxy."""
import json
import os
import subprocess
import sys

from rocketmq import ClientConfiguration, Credentials, Message, Producer  # rocketmq-python-client

topic, words = sys.argv[1], sys.argv[2:]
reader = subprocess.Popen(
    [os.environ.get("SECKILL", "seckill"), "orders", "--to", "stdout", *words],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
producer = Producer(
    ClientConfiguration(os.environ.get("ROCKETMQ", "127.0.0.1:8081"), Credentials()), (topic,))
try:
    producer.startup()
    for line in reader.stdout:
        entry = json.loads(line)
        number, data = entry.pop("line"), entry["data"]
        message = Message()
        message.topic = topic
        message.body = json.dumps(entry).encode()
        message.keys = f"{data['id']}-{data['epoch']}-{data['rev']}"
        producer.send(message)  # Raises if the proxy did not accept it.
        print(number, file=reader.stdin)
finally:
    reader.terminate()
sys.exit(reader.wait())
