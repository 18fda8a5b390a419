//! `seckill split repair`: creates a lost part again. The other parts have the totals of units sent
//! to it and received from it. The shop has the number of units it sold.
//!
//! The repair is one transaction. Between two of its commands the part would show more units than
//! it owns, and a balancer could send them or a buyer take them. Every command can be repeated, so
//! a repair that was stopped is simply started again.

use std::path::{Path, PathBuf};

use crate::print::{say, tell};
use clap::Args;
use redis::{cmd, Cmd, Value};

use super::create::Beginning;
use super::nodes::said;
use super::parts::{advice, one, seckill, Split, View};
use crate::terms::ALTERED;

/// The split, and figures that only the shop knows.
#[derive(Args)]
pub struct Options {
    pub name: String,
    /// Sold orders of the shop's database: CSV with a header line. Columns user, qty and req,
    /// optionally at and state (rows other than SOLD are skipped); users of other parts are skipped
    #[arg(long, value_name = "FILE", required_unless_present = "nothing_sold")]
    sold: Option<PathBuf>,
    /// The lost parts had sold nothing
    #[arg(long, conflicts_with = "sold")]
    nothing_sold: bool,
    /// Only this part
    #[arg(long, value_name = "N")]
    part: Option<usize>,
    /// The lost part's share and restocks; needed if units were added
    #[arg(long, value_name = "N")]
    put_in: Option<u64>,
    /// As `create` was told
    #[command(flatten)]
    beginning: Beginning,
}

/// A row of the shop's list.
struct Sold {
    user: Vec<u8>,
    qty: Vec<u8>,
    req: Vec<u8>,
    at: Option<Vec<u8>>,
}

/// Creates the missing parts.
///
/// # Errors
/// An error message that says what to do; calling it again continues the repair.
pub fn run(split: Split, options: &Options) -> Result<(), String> {
    let mut repair = Repair { split, options, views: Vec::new(), lost: Vec::new() };
    repair.look()?;
    if repair.lost.is_empty() {
        say!("no part is missing");
        return Ok(());
    }
    if let (Some(units), [first, _, ..]) = (options.put_in, repair.lost.as_slice()) {
        let lost: Vec<String> = repair.lost.iter().map(usize::to_string).collect();
        return Err(format!(
            "parts {} are lost, and each was given its own number of units: repair one after the \
             other, with --part {first} --put-in {units} if part {first} was given {units}",
            lost.join(", ")
        ));
    }
    repair.check_terms()?;
    let sold = repair.sold()?;
    for part in repair.lost.clone() {
        repair.make(part, &sold[part])?;
    }
    tell!(
        "seckill split repair: what `allow`, `deny` and `alter` told a lost part about who may buy \
         is lost: tell it again"
    );
    Ok(())
}

struct Repair<'o> {
    split: Split,
    options: &'o Options,
    /// For each part its state, `None` if the part is missing.
    views: Vec<Option<View>>,
    /// Missing parts, and parts whose repair was begun.
    lost: Vec<usize>,
}

impl Repair<'_> {
    /// Reads all parts. A paused part that began with no units has an unfinished repair, or was
    /// repaired: repairing it again does no harm. A part that is closed may be paused, too.
    fn look(&mut self) -> Result<(), String> {
        for part in 0..self.split.parts {
            let view = self.split.read_if_there(part)?;
            let is_lost = match &view {
                None => true,
                Some(View { state, .. }) => {
                    matches!(state.as_str(), "paused" | "closed") && self.began_with(part, 0)?
                }
            };
            if is_lost && self.options.part.is_none_or(|meant| meant == part) {
                self.lost.push(part);
            }
            self.views.push(view);
        }
        Ok(())
    }

    /// Parts that exist and need no repair.
    fn others(&self) -> impl Iterator<Item = (usize, &View)> {
        let there =
            self.views.iter().enumerate().filter_map(|(at, view)| Some((at, view.as_ref()?)));
        there.filter(|(at, _)| !self.lost.contains(at))
    }

    /// Whether a part that exists began with `units` units and these terms: INIT with the same
    /// arguments answers OK and changes nothing.
    fn began_with(&mut self, part: usize, units: u64) -> Result<bool, String> {
        let Split { name, id, parts, .. } = &self.split;
        let init = self.options.beginning.init(name, id, (part, *parts), units);
        let reply = one(self.split.call(part, &[init])?);
        match &reply {
            Value::Okay => Ok(true),
            Value::ServerError(error) if error.code() == "SALEEXISTS" => Ok(false),
            _ => Err(advice(&self.split.key(part), &reply)),
        }
    }

    fn share(&self, part: usize) -> u64 {
        self.options.beginning.share(self.split.parts, part)
    }

    /// Checks with a part that exists whether these are the terms of the split.
    fn check_terms(&mut self) -> Result<(), String> {
        let peer = self.others().next().map(|(at, _)| at);
        let peer = peer.ok_or("no other part is there that could tell what this one had")?;
        // A repaired part began with no units.
        match self.began_with(peer, self.share(peer))? || self.began_with(peer, 0)? {
            true => Ok(()),
            false => Err(format!(
                "{} began with other terms: give --supply, --outbox and the terms as \
                 `seckill split create` was told them",
                self.split.key(peer)
            )),
        }
    }

    /// The shop's sold orders, by part.
    fn sold(&mut self) -> Result<Vec<Vec<Sold>>, String> {
        let mut sold: Vec<Vec<Sold>> = (0..self.split.parts).map(|_| Vec::new()).collect();
        if let Some(file) = &self.options.sold {
            let rows = read(file).map_err(|why| format!("{}: {why}", file.display()))?;
            let users: Vec<&[u8]> = rows.iter().map(|row| row.user.as_slice()).collect();
            for (home, row) in self.split.homes(&users)?.into_iter().zip(rows) {
                sold[home].push(row);
            }
        }
        Ok(sold)
    }

    /// Units that the part was ever given. All other parts must have begun with their share;
    /// otherwise the operator has to name the number.
    fn put_in(&self, part: usize) -> Result<u64, String> {
        if let Some(units) = self.options.put_in {
            return Ok(units);
        }
        let mut others = self.others().map(|(at, view)| (at, view.reading.put_in));
        match others.find(|(at, put_in)| *put_in != self.share(*at) as i64) {
            None => Ok(self.share(part)),
            Some((at, put_in)) => Err(format!(
                "part {at} was given {put_in} units and not its share of {} alone: say with --part \
                 {part} --put-in N what part {part} was given, its share of {} and what each \
                 restock added to it",
                self.share(at),
                self.share(part)
            )),
        }
    }

    /// Creates the part, and resumes it if the other parts are not paused.
    fn make(&mut self, part: usize, sold: &[Sold]) -> Result<(), String> {
        let key = self.split.key(part);
        let put_in = self.put_in(part)?;
        let commands = self.commands(part, put_in, sold);
        let replies = self.split.call(part, &commands)?;
        let Some(Value::Array(done)) = replies.last() else {
            let refused = replies.iter().find(|reply| matches!(reply, Value::ServerError(_)));
            return Err(advice(&key, refused.unwrap_or(&Value::Nil)));
        };
        if let Some(at) = done.iter().position(|reply| matches!(reply, Value::ServerError(_))) {
            let words: Vec<_> = commands[at + 1].args_iter().take(3).map(word).collect();
            return Err(format!(
                "{key} is paused and not repaired: {}: {}. Mend that, and repair it again: what \
                 went well is not done twice",
                words.join(" "),
                said(&done[at])
            ));
        }
        let is_for_sale = self.others().any(|(_, view)| view.state != "paused");
        if is_for_sale {
            let reply = one(self.split.call(part, &[seckill("RESUME", &[key.as_bytes()])])?);
            if reply != Value::Okay {
                return Err(advice(&key, &reply) + ". It is made, and paused: repair it again");
            }
        }
        let view = self.split.read(part)?;
        say!(
            "part {part}: {put_in} units put in, {} sold, {} available, {} promised beyond what is \
             there; {}",
            view.number("sold"),
            view.reading.available,
            view.reading.deficit,
            if is_for_sale { "it sells" } else { "paused as the others are" }
        );
        self.views[part] = Some(view);
        Ok(())
    }

    /// The commands of the transaction. IMPORT may make a deficit, which RESTOCK and RECEIVE pay
    /// off. SEND comes last: it takes available units first, and only the rest is owed.
    fn commands(&self, part: usize, put_in: u64, sold: &[Sold]) -> Vec<Cmd> {
        let Split { name, id, parts, .. } = &self.split;
        let key = self.split.key(part);
        let here = |name: &str| seckill(name, &[key.as_bytes()]);
        let init = self.options.beginning.init(name, id, (part, *parts), 0);
        let mut all = vec![cmd("MULTI"), init, here("PAUSE")];
        all.extend(self.others().next().map(|(_, peer)| terms_of(peer, here("ALTER"))));
        for row in sold {
            let mut import = here("IMPORT");
            import.arg(&row.user).arg(&row.qty).arg("REQ").arg(&row.req);
            if let Some(at) = &row.at {
                import.arg("AT").arg(at);
            }
            all.push(import);
        }
        if put_in > 0 {
            let mut restock = here("RESTOCK");
            restock.arg(put_in).arg("REQ").arg("repair");
            all.push(restock);
        }
        for (from, peer) in self.views.iter().enumerate() {
            let total = peer.as_ref().map_or(0, |peer| peer.reading.sent[part]);
            if total > 0 {
                let mut receive = here("RECEIVE");
                receive.arg(id).arg(from).arg(total);
                all.push(receive);
            }
        }
        for (to, peer) in self.views.iter().enumerate() {
            let total = peer.as_ref().map_or(0, |peer| peer.reading.received[part]);
            if total > 0 {
                let mut send = here("SEND");
                send.arg(id).arg(to).arg(total).arg("OWED");
                all.push(send);
            }
        }
        all.push(cmd("EXEC"));
        all
    }
}

fn word(arg: redis::Arg<&[u8]>) -> String {
    match arg {
        redis::Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// The terms that ALTER has changed, as far as STATUS shows them.
fn terms_of(peer: &View, mut alter: Cmd) -> Cmd {
    for (term, field) in ALTERED {
        if let Some(number) = peer.numbers.get(field) {
            alter.arg(term).arg(*number);
        }
    }
    alter
}

/// The states of orders. A row with another word may be of a sold order: skipping it would sell its
/// units a second time.
const STATES: [&[u8]; 6] = [b"HELD", b"SOLD", b"CANCELLED", b"EXPIRED", b"REFUNDED", b"CLOSED"];

/// Reads the shop's sold orders.
fn read(file: &Path) -> Result<Vec<Sold>, String> {
    let mut reader = csv::Reader::from_path(file).map_err(|e| e.to_string())?;
    let head = reader.byte_headers().map_err(|e| e.to_string())?.clone();
    let column = |name: &str| head.iter().position(|field| field == name.as_bytes());
    let needed = |name: &str| column(name).ok_or(format!("there is no column {name} in its head"));
    let (user, qty, req) = (needed("user")?, needed("qty")?, needed("req")?);
    let (at, state) = (column("at"), column("state"));
    let mut rows = Vec::new();
    for row in reader.byte_records() {
        let row = row.map_err(|e| e.to_string())?;
        let line = row.position().map_or(0, csv::Position::line);
        let field = |column: usize| row.get(column).unwrap_or_default().to_vec();
        match state.map(field) {
            Some(word) if !STATES.contains(&word.as_slice()) => {
                let word = String::from_utf8_lossy(&word);
                return Err(format!("line {line} has the state \"{word}\": is it SOLD?"));
            }
            Some(word) if word != b"SOLD" => continue,
            _ => {}
        }
        if field(req).is_empty() {
            return Err(format!(
                "line {line} has no req: give each sale one of its own, by which it is known"
            ));
        }
        let (user, qty, req) = (field(user), field(qty), field(req));
        rows.push(Sold { user, qty, req, at: at.map(field).filter(|at| !at.is_empty()) });
    }
    Ok(rows)
}
