//! Red packets in a chat: 100.00 yuan in 10 random packets, and 50 people click at once.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use indicatif::ProgressBar;
use redis::{Client, Connection};

use seckill_crowd::plan::{Click, Plan};
use seckill_crowd::sale::{self, compare, Winner};
use seckill_crowd::screen::bar;
use seckill_crowd::wire::{write_command, Reply};
use seckill_crowd::{self, Rush};

/// 100.00 yuan in the smallest coin.
const TOTAL_FEN: u64 = 10_000;
const PACKETS: u64 = 10;
/// One person for each of [`NAMES`].
pub const PEOPLE: u32 = NAMES.len() as u32;
const BAR_CHARS: u64 = 40;

const NAMES: [&str; 50] = [
    "Ada", "Aiko", "Amir", "Anna", "Bao", "Carla", "Chen", "Dara", "Deng", "Elif", "Emre", "Fang",
    "Femi", "Gao", "Hana", "Hugo", "Ines", "Ivan", "Jia", "Jun", "Kai", "Karim", "Lan", "Lena",
    "Li", "Lin", "Luca", "Mei", "Milo", "Min", "Nadia", "Ning", "Noor", "Omar", "Olga", "Ping",
    "Priya", "Qiu", "Rosa", "Ruth", "Sami", "Shu", "Tao", "Tess", "Uma", "Vera", "Wei", "Xin",
    "Yara", "Zoe",
];

/// One opened packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub seq: u64,
    pub person: u32,
    pub fen: u64,
}

/// Opens the packets, prints and checks them.
///
/// # Errors
/// The first thing that is wrong, as a message.
pub fn run(client: &Client, control: &mut Connection, key: &str) -> Result<String, String> {
    println!("SECKILL.INIT {key} {TOTAL_FEN} DRAW PACKETS {PACKETS}\n");
    let mut init = redis::cmd("SECKILL.INIT");
    let opened: Result<String, _> =
        init.arg(key).arg(TOTAL_FEN).arg("DRAW").arg("PACKETS").arg(PACKETS).query(control);
    opened.map_err(|e| format!("The sale can't be opened: {e}"))?;
    let rush = Rush {
        server: client.get_connection_info(),
        write: &|out, click| write(out, key, click),
        from: Instant::now(),
        until: None,
    };
    let plan = Plan::new(PEOPLE as usize, PEOPLE);
    let answers = seckill_crowd::rush(&rush, plan, &ProgressBar::hidden())?.answers;
    let packets = check(&answers)?;
    print(&packets);
    server(control, key, &packets)?;
    let (most, sum) = (luckiest(&packets), yuan(TOTAL_FEN));
    Ok(format!(
        "OK: {PACKETS} packets, {sum} yuan together, to the fen. The luckiest is {} with {}; {} \
         people were too late.\nReplies, STATUS, WINNERS and AUDIT agree.",
        most.map_or("nobody", |most| name(most.person)),
        yuan(most.map_or(0, |most| most.fen)),
        u64::from(PEOPLE) - PACKETS
    ))
}

fn write(out: &mut Vec<u8>, key: &str, click: Click) {
    let request = format!("click-{}", click.order);
    write_command(out, &["SECKILL.GRAB", key, name(click.user), "REQ", &request]);
}

fn name(person: u32) -> &'static str {
    NAMES.get(person as usize).copied().unwrap_or("?")
}

fn yuan(fen: u64) -> String {
    format!("{}.{:02}", fen / 100, fen % 100)
}

fn luckiest(packets: &[Packet]) -> Option<&Packet> {
    packets.iter().max_by_key(|packet| packet.fen)
}

fn print(packets: &[Packet]) {
    let luckiest = luckiest(packets);
    let most = luckiest.map_or(1, |packet| packet.fen);
    for packet in packets {
        let mark = if Some(packet) == luckiest { " the luckiest" } else { "" };
        let bar = bar(packet.fen, most, BAR_CHARS);
        println!("{:3}  {:6} {:>6} {bar}{mark}", packet.seq, name(packet.person), yuan(packet.fen));
    }
    println!("{:>18}\n", yuan(packets.iter().map(|packet| packet.fen).sum()));
}

/// Compares the answers with each other. Returns the packets in the order in which they were
/// opened.
///
/// # Errors
/// The first thing that is wrong, as a message.
pub fn check(answers: &[(Click, Reply)]) -> Result<Vec<Packet>, String> {
    let mut opened = HashMap::new();
    let mut left = TOTAL_FEN;
    let mut granted: Vec<(u64, u64, u64, u32)> = Vec::new();
    for (click, reply) in answers {
        if let Reply::Granted { seq, qty, available, .. } = reply {
            granted.push((*seq, *qty, *available, click.user));
        }
    }
    granted.sort_unstable();
    for ((seq, fen, available, person), wanted) in granted.into_iter().zip(1..) {
        let name = name(person);
        left = left.checked_sub(fen).ok_or("More was given than there is.")?;
        if seq != wanted || fen == 0 || available != left {
            return Err(format!("{name} got packet {seq} of {fen} fen, and {available} are left."));
        }
        if opened.insert(person, Packet { seq, person, fen }).is_some() {
            return Err(format!("{name} opened two packets."));
        }
    }
    if opened.len() as u64 != PACKETS || left != 0 {
        return Err(format!("{} packets were opened, {left} fen are left.", opened.len()));
    }
    others(answers, &opened)?;
    let mut packets: Vec<Packet> = opened.into_values().collect();
    packets.sort_unstable_by_key(|packet| packet.seq);
    Ok(packets)
}

/// Checks that a repeated call gets the user's own packet, and that all others were too late.
fn others(answers: &[(Click, Reply)], opened: &HashMap<u32, Packet>) -> Result<(), String> {
    let mut late = HashSet::new();
    for (click, reply) in answers {
        let own = opened.get(&click.user);
        match (reply, own) {
            (Reply::Granted { .. }, _) => {}
            (Reply::Already { seq, qty, .. } | Reply::Replay { seq, qty, .. }, Some(own))
                if (*seq, *qty) == (own.seq, own.fen) => {}
            (Reply::SoldOut { held: 0 }, None) => drop(late.insert(click.user)),
            _ => return Err(format!("{} was told {reply:?}.", name(click.user))),
        }
    }
    let expected = u64::from(PEOPLE) - PACKETS;
    if late.len() as u64 != expected {
        return Err(format!("{} people were too late instead of {expected}.", late.len()));
    }
    Ok(())
}

/// Compares the packets with the server's list and numbers.
fn server(control: &mut Connection, key: &str, packets: &[Packet]) -> Result<(), String> {
    let rows = sale::rows(control, key, None)?;
    let listed: Vec<Winner> = rows.into_iter().map(|row| row.winner).collect();
    let told = packets.iter().map(|packet| Winner {
        seq: packet.seq,
        user: name(packet.person).into(),
        qty: packet.fen,
        state: "SOLD".into(),
    });
    let told: Vec<Winner> = told.collect();
    if listed != told {
        return Err(format!("WINNERS says {listed:?}, the replies said {told:?}."));
    }
    let status = sale::status(control, key)?;
    let expected =
        [("/supply", TOTAL_FEN), ("/sold", TOTAL_FEN), ("/available", 0), ("/packets", 0)];
    compare(&status, &expected)?;
    compare(&status, &[("/winners", PACKETS), ("/grants", PACKETS)])?;
    sale::audit(control, key)?.check()
}
