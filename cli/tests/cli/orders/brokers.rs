//! The examples that send entries to brokers, with real brokers.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::Connection;
use seckill_harness::launch::free_port;
use seckill_harness::process::command;
use seckill_harness::program::Server;
use seckill_harness::server::module_path;
use seckill_harness::wait::holds_in_time;
use seckill_harness::wait_until;

use super::killed::{ask, is_done, is_read, sell};
use super::proxy::{self, Killer};

/// Erlang's virtual machine starts slowly while other programs use the processor.
const LISTENS_WITHIN: Duration = Duration::from_secs(300);

/// Debian's Python, which Debian's pika is for.
const PYTHON: &str = "/usr/bin/python3";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/brokers").join(name)
}

/// One of the example programs; dropping the value ends it.
struct Sender(Child);

impl Drop for Sender {
    fn drop(&mut self) {
        // Both calls fail only if the process has ended already. The reader ends when its pipes are
        // closed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sender(program: &str, example_name: &str, queue: &str, redis: &str, key: &str) -> Command {
    let mut sender = command(program.as_ref());
    sender.arg(example(example_name)).args([queue, "--redis", redis, "--stream"]);
    sender.args([&format!("{key}:orders"), "--name", "w", "--claim-after-ms", "60"]);
    sender.env("SECKILL", env!("CARGO_BIN_EXE_seckill"));
    sender
}

/// A RabbitMQ of user root in a folder of its own: no service, no cluster, one port.
struct Rabbit {
    folder: tempfile::TempDir,
    port: u16,
    child: Option<Child>,
}

impl Rabbit {
    fn start() -> Rabbit {
        let folder = tempfile::tempdir().expect("a folder");
        let ports: Vec<u16> = (0..2).map(|_| free_port()).collect();
        let text = format!("listeners.tcp.1 = 127.0.0.1:{}\n", ports[0]);
        fs::write(folder.path().join("rabbitmq.conf"), text).expect("a file");
        fs::write(folder.path().join("plugins"), "[].").expect("a file");
        fs::write(folder.path().join("dist"), ports[1].to_string()).expect("a file");
        let mut rabbit = Rabbit { folder, port: ports[0], child: None };
        rabbit.launch();
        rabbit
    }

    fn launch(&mut self) {
        let here = |name: &str| self.folder.path().join(name);
        let dist = fs::read_to_string(here("dist")).expect("a port");
        let log = fs::File::create(here("log")).expect("a log");
        // The script of Debian's package changes the user; the one below it does not.
        let mut server = command("/usr/lib/rabbitmq/bin/rabbitmq-server".as_ref());
        server
            .env("HOME", self.folder.path())
            .env("RABBITMQ_NODENAME", format!("seckill{}@localhost", self.port))
            .env("RABBITMQ_CONFIG_FILE", here("rabbitmq"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", here("plugins"))
            .env("RABBITMQ_MNESIA_BASE", here("mnesia"))
            .env("RABBITMQ_LOG_BASE", here("logs"))
            .env("RABBITMQ_PID_FILE", here("pid"))
            .env("RABBITMQ_DIST_PORT", dist)
            .env("ERL_CRASH_DUMP", here("crash"))
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        let child = server.spawn().expect("RabbitMQ starts: apt-get install rabbitmq-server");
        let child = self.child.insert(child);
        // The start takes half a minute on a busy machine. A server that has ended never listens.
        let until = Instant::now() + LISTENS_WITHIN;
        let mut has_ended = false;
        let mut listens = || {
            let has_id = here("pid").exists();
            has_ended = child.try_wait().expect("its state").is_some();
            has_ended || has_id && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        };
        while !holds_in_time(&mut listens) && Instant::now() < until {}
        let said = || fs::read_to_string(here("log")).unwrap_or_default();
        assert!(listens() && !has_ended, "RabbitMQ does not listen: {}", said());
    }

    /// Kills all processes of the broker with SIGKILL; its files stay.
    fn kill(&mut self) {
        // The script has started Erlang's machine, whose process id is in this file.
        let file = self.folder.path().join("pid");
        let pid = fs::read_to_string(&file).unwrap_or_default();
        if !pid.trim().is_empty() {
            let _ = Command::new("kill").args(["-9", pid.trim()]).status();
        }
        let _ = fs::remove_file(file);
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/", self.port)
    }

    /// Reads the queue to its end. Returns the (id, epoch, rev) of its messages.
    fn drained(&self, queue: &str) -> BTreeSet<String> {
        let program = "import os, sys, pika\n\
            c = pika.BlockingConnection(pika.URLParameters(os.environ['AMQP_URL'])).channel()\n\
            while True:\n\
            \x20m, p, b = c.basic_get(sys.argv[1], True)\n\
            \x20if m is None: break\n\
            \x20print(p.message_id)\n";
        let mut drain = Command::new(PYTHON);
        drain.args(["-c", program, queue]).env("AMQP_URL", self.url());
        let mut messages = BTreeSet::new();
        // RabbitMQ listens before it accepts logins.
        wait_until("the queue can be read", || {
            let output = drain.output().expect("it runs");
            let text = String::from_utf8(output.stdout).expect("text");
            messages.extend(text.lines().map(str::to_owned));
            output.status.success()
        });
        messages
    }
}

impl Drop for Rabbit {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The entries of the stream, each as (id, epoch, rev).
fn told(redis: &mut Connection, stream: &str) -> BTreeSet<String> {
    let entries: Vec<(String, std::collections::HashMap<String, String>)> =
        redis::cmd("XRANGE").arg(stream).arg("-").arg("+").query(redis).expect("the entries");
    let name = |fields: &std::collections::HashMap<String, String>| {
        let data: serde_json::Value = serde_json::from_str(&fields["data"]).expect("JSON");
        let id = data["id"].as_str().expect("an id");
        format!("{id}-{}-{}", data["epoch"], data["rev"])
    };
    entries.iter().map(|(_, fields)| name(fields)).collect()
}

/// The reader is killed with -9 before and after each message that it sends to Redis. A second
/// reader finishes the work. Then the broker itself is killed at each of eight messages.
#[test]
#[ignore = "takes RabbitMQ and python3-pika: make orders-test"]
fn rabbitmq_has_all_whoever_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("redis");
    let server = Server::start(&module_path(), &["--unixsocket", socket.to_str().expect("text")]);
    let server = server.expect("Redis");
    let mut redis = server.connect().expect("a connection");
    let mut rabbit = Rabbit::start();
    let killer = Arc::new(Killer::default());
    let url = format!("redis://127.0.0.1:{}/", proxy::before(&socket, &killer));
    for after in [false, true] {
        for point in 1.. {
            let key = format!("sale:{point}:{after}");
            let stream = format!("{key}:orders");
            sell(&mut redis, &key, "");
            killer.aim(point, after);
            let mut first = sender(PYTHON, "rabbitmq.py", &key, &url, &key);
            killer.victim(first.env("AMQP_URL", rabbit.url()).spawn().expect("it starts"));
            wait_until("it is killed or done", || killer.killed() || is_done(&mut redis, &stream));
            let killed = killer.killed();
            killer.end();
            let mut second = sender(PYTHON, "rabbitmq.py", &key, &server.url(), &key);
            let second = second.env("AMQP_URL", rabbit.url()).spawn();
            let _second = Sender(second.expect("it starts"));
            wait_until("the rest is done", || is_done(&mut redis, &stream));
            assert_eq!(rabbit.drained(&key), told(&mut redis, &stream), "{key}");
            if !killed {
                println!("{} points, after: {after}", point - 1);
                assert!(point > 6, "{point} points");
                break;
            }
        }
    }

    let stream = "sale:rabbit:orders";
    sell(&mut redis, "sale:rabbit", "");
    let start = |rabbit: &Rabbit| {
        let mut one = sender(PYTHON, "rabbitmq.py", "rabbit", &server.url(), "sale:rabbit");
        Sender(one.env("AMQP_URL", rabbit.url()).spawn().expect("it starts"))
    };
    let mut sending = start(&rabbit);
    wait_until("all is sent", || is_done(&mut redis, stream));
    for entry in 1..=8 {
        ask(&mut redis, &format!("SECKILL.GRAB sale:rabbit late-{entry} REQ late-{entry}"));
        // The broker dies before the message arrives, after it, or after the broker confirmed it.
        wait_until("it is at the sender", || is_read(&mut redis, stream));
        rabbit.kill();
        rabbit.launch();
        wait_until("the rest is sent", || {
            // Without a broker, or with one that still starts, a sender ends, and a service
            // manager starts it again.
            if sending.0.try_wait().expect("its state").is_some() {
                sending = start(&rabbit);
            }
            is_done(&mut redis, stream)
        });
    }
    assert_eq!(rabbit.drained("rabbit"), told(&mut redis, stream));
}

/// Three mock brokers of librdkafka. The program that starts them also reads the messages.
#[test]
#[ignore = "takes confluent-kafka of PyPI: make orders-test"]
fn kafka_has_all() {
    let program = "import os, sys, json, time\n\
        from confluent_kafka import Producer, Consumer\n\
        p = Producer({'bootstrap.servers': 'none', 'test.mock.num.brokers': 3})\n\
        m = p.list_topics(timeout=10)\n\
        b = ','.join(f'{x.host}:{x.port}' for x in m.brokers.values())\n\
        print(b, flush=True)\n\
        c = Consumer({'bootstrap.servers': b, 'group.id': 'g', 'auto.offset.reset': 'earliest'})\n\
        c.subscribe(['orders'])\n\
        while True:\n\
        \x20m = c.poll(1)\n\
        \x20if m and not m.error(): print(dict(m.headers())['id'].decode(), flush=True)\n";
    is_sent_to(program, "kafka.py", "KAFKA_BROKERS", "sale:kafka");
}

/// A stand-in for confluent_kafka, whose brokers store nothing. The sender ends with 1, so a
/// service manager starts it again.
#[test]
#[ignore = "takes Python: make orders-test"]
fn kafka_that_stores_nothing_is_a_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = "import time\n\
        class Producer:\n\
        \x20def __init__(self, settings): self.sent = []\n\
        \x20def produce(self, topic, value, key, on_delivery, headers):\n\
        \x20 self.sent.append(on_delivery)\n\
        \x20def poll(self, seconds):\n\
        \x20 time.sleep(seconds)\n\
        \x20 while self.sent: self.sent.pop()('timed out', None)\n";
    fs::write(folder.path().join("confluent_kafka.py"), program).expect("a file");
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    sell(&mut redis, "sale:refused", "");
    let mut sending = sender("python3", "kafka.py", "orders", &server.url(), "sale:refused");
    sending.env("PYTHONPATH", folder.path());
    let (status, said) = super::ended(sending);
    assert_eq!((status, said.matches("kafka.py: timed out").count()), (Some(1), 1), "{said}");
}

/// A proxy that speaks the protocol of RocketMQ 5, and refuses every third message once. (No
/// package registry has a build of a real one.)
#[test]
#[ignore = "takes rocketmq-python-client of PyPI: make orders-test"]
fn rocketmq_has_all() {
    let program = include_str!("rocketmq_proxy.py");
    is_sent_to(program, "send_rocketmq.py", "ROCKETMQ", "sale:rocket");
}

/// Starts brokers by a Python program that prints their address, and then the id of each message
/// received. An example sends a sale's entries there; its environment variable `variable` has the
/// address.
#[track_caller]
fn is_sent_to(program: &str, example_name: &str, variable: &str, key: &str) {
    let mut brokers = command("python3".as_ref());
    brokers.args(["-c", program]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut brokers = Sender(brokers.spawn().expect("it starts"));
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(
        brokers.0.stdout.take().expect("its output"),
    ));
    let addresses = lines.next().expect("the brokers").expect("text");
    let server = Server::start(&module_path(), &[]).expect("Redis");
    let mut redis = server.connect().expect("a connection");
    sell(&mut redis, key, "");
    let mut sending = sender("python3", example_name, "orders", &server.url(), key);
    let _sending = Sender(sending.env(variable, addresses).spawn().expect("it starts"));
    let stream = &format!("{key}:orders");
    wait_until("all is sent", || is_done(&mut redis, stream));
    let told = told(&mut redis, stream);
    let mut read = BTreeSet::new();
    while read.len() < told.len() {
        read.insert(lines.next().expect("a message").expect("text"));
    }
    assert_eq!(read, told);
}
