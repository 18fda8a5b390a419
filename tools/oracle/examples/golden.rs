use seckill_domain::admission::*;
use seckill_domain::draw::Draw;
use seckill_domain::effect::*;
use seckill_domain::schedule::Schedule;
use seckill_domain::terms::Terms;
use seckill_oracle::world::encoded;
use std::io::Read;
fn unescape(eff: &str) -> Vec<u8> {
    let mut parts = eff.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for p in parts {
        bytes.push(u8::from_str_radix(&p[..2], 16).unwrap());
        bytes.extend_from_slice(p[2..].as_bytes());
    }
    bytes
}
fn num(t: &[u8]) -> u64 {
    std::str::from_utf8(t).unwrap().parse().unwrap()
}
fn special(key: &str, b: &[u8]) -> Option<Vec<u8>> {
    let (head, tail) = b.split_at(b.iter().position(|x| *x == b':')? + 1);
    if b[0] == b'I' && head.contains(&b'x') {
        let field = |l: u8| {
            let i = head.iter().position(|x| *x == l).unwrap() + 1;
            let n = head[i..].iter().take_while(|c| c.is_ascii_digit()).count();
            num(&head[i..i + n])
        };
        let id = u64::from_be_bytes(tail[..8].try_into().unwrap());
        let secret: [u8; 16] = tail[8..24].try_into().unwrap();
        let mut terms = Terms {
            limit: field(b'l'),
            grabs: field(b'g'),
            hold_ms: field(b'h'),
            ..Terms::default()
        };
        let mut amounts = vec![];
        if key == "listed" {
            amounts = tail[tail.len() - 4..].iter().map(|b| u64::from(*b)).collect();
            terms.draw = Some(Draw::list(&amounts));
        } else {
            terms.draw = Some(Draw::Packets { packets: 4, min: 2 });
            terms.schedule = Some(Schedule {
                period_ms: 3_600_000,
                offset_ms: 600_000,
                lasts_ms: 3_000_000,
                carry: true,
            });
            terms.admission = Admission {
                allowlist: true,
                modulo: Some(Box::new(Modulo::new(2, vec![0, 1]))),
                sample: Some(Box::new(Sample { permille: 999, salt: b"s"[..].into() })),
                admit: 5,
                mask: true,
            };
        }
        let start = Start { id, secret, supply: field(b's'), terms, amounts };
        return Some(encoded(&Change {
            elapsed_ms: field(b't'),
            epoch: Some(field(b'e')),
            effect: Effect::Init(Box::new(start)),
        }));
    }
    if b[0] == b'Q' && tail.len() > 3 {
        let mut users = vec![];
        let mut r = tail;
        while !r.is_empty() {
            let n = r[0] as usize;
            users.push(&r[1..1 + n]);
            r = &r[1 + n..];
        }
        return Some(encoded(&Change::piece(Effect::Users(UsersChange {
            list: if head[2] == b'1' { List::Allow } else { List::Deny },
            add: head[3] == b'p',
            users,
        }))));
    }
    if b[0] == b'Q' {
        // one user after its length
        return Some(encoded(&Change::piece(Effect::Users(UsersChange {
            list: if head[2] == b'1' { List::Allow } else { List::Deny },
            add: head[3] == b'p',
            users: vec![&tail[1..]],
        }))));
    }
    None
}
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("SECKILL.APPLY ") else {
            println!("{line}");
            continue;
        };
        let mut words = rest.split(' ');
        let (key, version) = (words.next().unwrap(), words.next().unwrap());
        print!("SECKILL.APPLY {key} {version}");
        for eff in words {
            let bytes = unescape(eff);
            let out =
                special(key, &bytes).unwrap_or_else(|| seckill_oracle::shorthand::effect(&bytes));
            let shown: String = out
                .iter()
                .map(|b| {
                    if b.is_ascii_graphic() && *b != b'\\' {
                        (*b as char).to_string()
                    } else {
                        format!("\\x{b:02x}")
                    }
                })
                .collect();
            print!(" {shown}");
        }
        println!();
    }
}
