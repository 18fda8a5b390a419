//! Small questions about servers that readers argue about, answered by the servers.

use redis::{Connection, Value};
use serde::{Deserialize, Serialize};

use crate::servers::Servers;
use crate::told::Stop;
use crate::wire::shown;

/// A question, the commands, and the server's replies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fact {
    pub id: String,
    pub asked: String,
    pub said: String,
    /// Whether the server's replies agree with the page.
    pub holds: bool,
}

/// Asks all questions.
///
/// # Errors
/// A message if the lab itself fails.
pub fn facts(servers: &Servers, sql: bool) -> Result<Vec<Fact>, String> {
    let mut one = servers.redis()?;
    let mut all = exec(&mut one).map_err(|e| e.to_string())?;
    all.extend(shedding(&mut one).map_err(|e| e.to_string())?);
    if sql {
        all.push(plain_select(servers)?);
    }
    Ok(all)
}

/// R11, row 20: the reasons why EXEC fails.
fn exec(redis: &mut Connection) -> redis::RedisResult<Vec<Fact>> {
    let cases: [(&str, &[&[&str]], bool); 4] = [
        ("nothing is touched at all", &[&["WATCH", "k"], &["MULTI"], &["EXEC"]], true),
        (
            "the watched key is changed inside the transaction",
            &[&["WATCH", "k"], &["MULTI"], &["SET", "k", "2"], &["EXEC"]],
            true,
        ),
        (
            "two are watched, another is changed",
            &[&["WATCH", "k", "l"], &["MULTI"], &["SET", "m", "2"], &["EXEC"]],
            true,
        ),
        (
            "the caller itself changes it between WATCH and MULTI",
            &[&["WATCH", "k"], &["SET", "k", "3"], &["MULTI"], &["EXEC"]],
            false,
        ),
    ];
    let mut facts = Vec::new();
    for (number, (what, commands, succeeds)) in cases.into_iter().enumerate() {
        redis::cmd("SET").arg("k").arg("1").exec(redis)?;
        let mut last = Value::Nil;
        for words in commands {
            last = redis::cmd(words[0]).arg(&words[1..]).query(redis)?;
        }
        let words: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
        let carried_out = last != Value::Nil;
        facts.push(Fact {
            id: format!("R11.{}", number + 1),
            asked: format!("{}: `{}`", what, words.join("; ")),
            said: match carried_out {
                true => format!("carried out: [{}]", shown(&last)),
                false => "nil".into(),
            },
            holds: carried_out == succeeds,
        });
    }
    Ok(facts)
}

/// Row 42: a user who clicks ten times, rejected at random, and rejected by SAMPLE.
fn shedding(redis: &mut Connection) -> redis::RedisResult<Vec<Fact>> {
    const USERS: usize = 1000;
    let mut random = fastrand::Rng::with_seed(42);
    let mut passes =
        |clicks: usize| (0..USERS).filter(|_| (0..clicks).any(|_| random.u32(0..10) == 0)).count();
    let (once, ten_times) = (passes(1), passes(10));
    redis::cmd("DEL").arg("sampled").exec(redis)?;
    let init = ["sampled", "1000000", "LIMIT", "0", "GRABS", "1", "SAMPLE", "100"];
    redis::cmd("SECKILL.INIT").arg(&init).exec(redis)?;
    let mut sampled = |clicks: usize| -> redis::RedisResult<usize> {
        let mut passed = 0;
        for user in 0..USERS {
            let mut heard = Vec::new();
            for click in 0..clicks {
                let mut grab = redis::cmd("SECKILL.GRAB");
                let reply: Vec<Value> = grab
                    .arg("sampled")
                    .arg(format!("u{user}"))
                    .arg("REQ")
                    .arg(click)
                    .query(redis)?;
                heard.push(shown(&reply[0]) != "BUSY");
            }
            passed += usize::from(heard.contains(&true));
        }
        Ok(passed)
    };
    let (sample_once, sample_ten) = (sampled(1)?, sampled(10)?);
    let share = |passed: usize| format!("{:.1} %", passed as f64 * 100.0 / USERS as f64);
    let fact = |id: &str, asked: &str, (once, ten): (usize, usize), holds| Fact {
        id: id.into(),
        asked: asked.into(),
        said: format!("one click: {} pass; ten clicks: {}", share(once), share(ten)),
        holds,
    };
    Ok(vec![
        fact("Q03", "shed at random, nine of ten", (once, ten_times), ten_times > 3 * once),
        fact("S06", "SAMPLE 100", (sample_once, sample_ten), sample_once == sample_ten),
    ])
}

/// Row 23: a plain SELECT beside FOR UPDATE.
fn plain_select(servers: &Servers) -> Result<Fact, String> {
    let (mut one, mut two) = match (servers.sql()?, servers.sql()?) {
        (Some(one), Some(two)) => (one, two),
        _ => return Err("this needs the database".into()),
    };
    let mut ask = || -> Result<Option<String>, Stop> {
        one.ask("DELETE FROM seckill")?;
        one.ask("INSERT INTO seckill VALUES (1, 5)")?;
        one.ask("BEGIN")?;
        one.ask("SELECT number FROM seckill WHERE seckill_id=1 FOR UPDATE")?;
        // A statement that waits fails after this many seconds.
        two.ask("SET innodb_lock_wait_timeout = 1")?;
        let read = two.ask("SELECT number FROM seckill WHERE seckill_id=1");
        one.ask("ROLLBACK")?;
        Ok(read?.rows.concat().into_iter().flatten().next())
    };
    let read = ask();
    let holds = matches!(read.as_ref().map(Option::as_deref), Ok(Some("5")));
    Ok(Fact {
        id: "M03".into(),
        asked: "a plain `SELECT number` while another transaction holds the row `FOR UPDATE`"
            .into(),
        said: match &read {
            Ok(Some(number)) => format!("reads {number} at once"),
            other => format!("{other:?}"),
        },
        holds,
    })
}
