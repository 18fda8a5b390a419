#!/usr/bin/env python3
"""Sends a sale's outbox to a queue of RabbitMQ: rabbitmq.py QUEUE --stream KEY [--redis URL ...]

An entry is acknowledged in Redis only when the broker has confirmed it. AMQP_URL names the broker."""
import json
import os
import subprocess
import sys

import pika  # Debian: python3-pika

queue, words = sys.argv[1], sys.argv[2:]
reader = subprocess.Popen(
    [os.environ.get("SECKILL", "seckill"), "orders", "--to", "stdout", *words],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
try:
    url = os.environ.get("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/")
    channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
    channel.queue_declare(queue, durable=True)
    channel.confirm_delivery()
    for line in reader.stdout:
        entry = json.loads(line)
        number, data = entry.pop("line"), entry["data"]
        # Returns when the broker has stored the entry on disk; raises if the broker refuses it.
        channel.basic_publish("", queue, json.dumps(entry), pika.BasicProperties(
            delivery_mode=2, message_id=f"{data['id']}-{data['epoch']}-{data['rev']}"),
            mandatory=True)
        print(number, file=reader.stdin)
finally:
    # Without a broker no entry is read. Unacknowledged entries are sent at the next start.
    reader.terminate()
sys.exit(reader.wait())
