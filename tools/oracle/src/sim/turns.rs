//! Checks by the outbox of a simulated sale that waiters are served in order.

use seckill_domain::outbox::Field;
use seckill_domain::Sale;

use crate::compare::{same, Check};
use crate::stored_entry::StoredEntry;
use crate::turns::{Terms, Told, Turns, Waiter};

/// Starts from the current sale; `None` for a part.
pub fn begun(sale: &Sale) -> Option<Turns> {
    let (terms, balances) = (sale.terms(), sale.balances());
    if terms.split.is_some() {
        return None;
    }
    let list = sale.waitlist();
    let waiter = |it: seckill_domain::waitlist::Waiter<'_>| Waiter {
        user: it.user.to_vec(),
        req: it.req.to_vec(),
        qty: it.qty,
        until: it.until,
        ahead: 0,
        passed: 0,
        overtaken: 0,
    };
    let waiting = list.into_iter().flat_map(|list| list.iter_from(0));
    let in_force = terms.waitlist.map_or_else(Terms::default, |list| Terms {
        offer_ms: if list.offer_ms == 0 { terms.hold_ms } else { list.offer_ms },
        overtake: list.overtake,
        close_at: terms.close_at,
    });
    let numbers = [balances.available, balances.held];
    Some(Turns::begun(in_force, numbers, waiting.map(|it| (it.ticket, waiter(it)))))
}

/// Reads the next entry.
pub fn read(turns: &mut Turns, entry: &StoredEntry) -> Check {
    let event = std::str::from_utf8(entry.raw(Field::Event)).unwrap_or_default();
    let numbers = ["ticket", "qty", "until", "deadline"].map(|name| entry.number_or_0(name));
    let [ticket, qty, until, deadline] = numbers;
    let terms = match event {
        "INIT" | "ALTER" => {
            let offer_ms = entry.number_or_0("offer_ms")?;
            let offer_ms = if offer_ms == 0 { entry.number_or_0("hold_ms")? } else { offer_ms };
            let overtake = entry.number_or_0("overtake")?;
            Some(Terms { offer_ms, overtake, close_at: entry.number_or_0("close_at")? })
        }
        _ => None,
    };
    turns.read(&Told {
        event,
        t: entry.number("t")?,
        available: entry.number("available")?,
        held: entry.number("held")?,
        terms,
        ticket: ticket?,
        user: entry.raw(Field::User),
        req: entry.raw(Field::Req),
        qty: qty?,
        until: until?,
        deadline: deadline?,
        reason: entry.word("reason"),
    })
}

/// Compares the sale's waiters with those in the outbox.
pub fn check(turns: &Turns, sale: &Sale) -> Check {
    let waiting = sale.waitlist().into_iter().flat_map(|list| list.iter_from(0));
    let waiting: Vec<_> = waiting.map(|it| (it.ticket, it.user, it.req, it.qty)).collect();
    let told = turns.waiting.iter();
    let told = told.map(|(ticket, it)| (*ticket, &it.user[..], &it.req[..], it.qty));
    same("who waits, by the outbox", &told.collect::<Vec<_>>(), &waiting)
}
