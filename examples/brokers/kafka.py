#!/usr/bin/env python3
"""Sends a sale's outbox to a topic of Kafka: kafka.py TOPIC --stream KEY [--redis URL ...]

An entry is acknowledged in Redis only after the brokers have stored it. KAFKA_BROKERS names the brokers."""
import json
import os
import subprocess
import sys
import threading

from confluent_kafka import Producer  # PyPI: confluent-kafka

topic, words = sys.argv[1], sys.argv[2:]
reader = subprocess.Popen(
    [os.environ.get("SECKILL", "seckill"), "orders", "--to", "stdout", *words],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
# Idempotent: in order within a partition, and no entry twice while this program runs.
producer = Producer({"bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
                     "acks": "all", "enable.idempotence": True})


def delivered(number):
    def report(error, _message):
        if error:  # Not sent within message.timeout.ms: it is sent at the next start.
            if not failed.is_set():  # A second signal would kill the reader in the middle.
                print(f"kafka.py: {error}", file=sys.stderr)
                failed.set()
                reader.terminate()
            return
        print(number, file=reader.stdin)
    return report


over, failed = threading.Event(), threading.Event()
polling = threading.Thread(target=lambda: [producer.poll(0.1) for _ in iter(over.is_set, True)])
polling.start()
for line in reader.stdout:
    entry = json.loads(line)
    number, data = entry.pop("line"), entry["data"]
    # All entries of a sale go to one partition, so they stay in order.
    producer.produce(topic, json.dumps(entry), key=data["id"], on_delivery=delivered(number),
                     headers={"id": f"{data['id']}-{data['epoch']}-{data['rev']}"})
over.set()
polling.join()
sys.exit(reader.wait() or failed.is_set())
