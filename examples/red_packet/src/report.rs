//! The short report in the terminal.

use comfy_table::Table;

use crate::amounts::{Kind, COINS_BOUND};
use crate::round::{Event, Played, Round, ROUNDS};
use seckill_crowd::heard::Heard;
use seckill_crowd::screen::{align_right, bar, table, thousands};

/// Coins of one bar.
const STEP: u64 = 20;
const BAR_CHARS: u64 = 40;

/// Prints the numbers of users and of each answer.
pub fn answers(event: &Event<'_>, round: &Round) {
    let users = thousands(round.users.into());
    let seconds = f64::from(event.lasts_ms) / 1000.0;
    println!("ROUND {} OF {ROUNDS}: {users} users, open for {seconds} s", round.number);
    println!("{}", heard(&Heard::count(&round.answers)));
    if round.unsent > 0 {
        println!("{} clicks were never sent: the round was over.", thousands(round.unsent));
    }
}

fn heard(heard: &Heard) -> Table {
    let mut table = table(&["answer", "clicks", "meaning"]);
    let rows = [
        ("GRANTED", heard.granted, "yours"),
        ("REPLAY", heard.replayed, "the same order again: told once more what it got"),
        ("ALREADY", heard.already, "another order of a user who has coins"),
        ("SOLDOUT", heard.soldout, "the budget is paid out"),
        ("NOTOPEN", heard.notopen, "too early, or too late for this round"),
    ];
    for (answer, clicks, meaning) in rows {
        table.add_row([answer, &thousands(clicks), meaning]);
    }
    align_right(&mut table, 1);
    table
}

/// Prints the coins that were paid, and the number of users for each amount.
pub fn paid(event: &Event<'_>, round: &Round, played: &Played) {
    let (budget, coins) = (event.budget, played.paid());
    let looks = round.looks;
    println!(
        "budget {}, paid {}, left {}; never more in {looks} looks meanwhile",
        thousands(budget),
        thousands(coins),
        thousands(budget - coins)
    );
    println!("{}\n", winners(played, budget));
    println!("{}\n", amounts(event, played));
}

/// Number of winners, and the end of the round.
fn winners(played: &Played, budget: u64) -> String {
    let winners = thousands(played.grants.len() as u64);
    match played.grants.last() {
        Some(last) if played.paid() == budget => format!(
            "{winners} users won; the last one, after {:.2} s, was to get {} and got the {} that \
             were left",
            last.after_ms as f64 / 1000.0,
            last.asked,
            last.qty
        ),
        _ => format!("{winners} users won: everybody who came while it was open"),
    }
}

/// The distribution of the amounts.
fn amounts(event: &Event<'_>, played: &Played) -> String {
    let mut users = vec![0; (COINS_BOUND / STEP) as usize];
    let mut new = 0;
    for grant in &played.grants {
        users[(grant.qty / STEP) as usize] += 1;
        new += u64::from(event.amounts.kind(grant.user) == Kind::New);
    }
    let most = users.iter().copied().max().unwrap_or(0);
    let mut lines = vec!["  coins    users".to_owned()];
    for (from, users) in (0..).step_by(STEP as usize).zip(users) {
        let (to, bar) = (from + STEP - 1, bar(users, most, BAR_CHARS));
        lines.push(format!("{from:3}-{to:3} {:>8} {bar}", thousands(users)).trim_end().to_owned());
    }
    lines.push(format!("Of the winners {} are new users: they get more.", thousands(new)));
    lines.join("\n")
}

/// The last line after success.
pub fn sentence(event: &Event<'_>, rounds: &[Played]) -> String {
    let paid = rounds.iter().map(Played::paid);
    let exact = paid.clone().filter(|paid| *paid == event.budget).count();
    let [coins, budgets] = [paid.sum::<u64>(), event.budget * rounds.len() as u64].map(thousands);
    format!(
        "OK: {coins} coins paid, with budgets of {budgets} together: {exact} of {ROUNDS} rounds \
         paid theirs exactly, none a coin more.\nReplies, STATUS, ROUNDS, WINNERS and AUDIT agree."
    )
}
