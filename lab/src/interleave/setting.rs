//! The setting of a schedule: its buyers, its units, and the possible events.

use crate::contender::Contender;

/// A buyer or helper of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name in the timeline.
    pub name: &'static str,
    pub user: String,
    pub req: String,
    /// Whether the buyer sent the request before without an answer.
    pub resent: bool,
    pub product: u64,
    /// 0 for A, 1 for B, 2 for C. The number selects the buyer's host, and the payment that fails.
    pub part: usize,
    /// Not a buyer: an operator who restocks, a worker, or an importer.
    pub helps: bool,
}

/// A small sale whose schedules are played.
#[derive(Clone, Debug)]
pub struct Setting {
    pub kind: Kind,
    pub stock: u64,
    /// Number of products with `stock` units each; buyers take them by turns.
    pub products: u64,
    pub people: Vec<Person>,
    /// The lease of the lock may expire once in a schedule.
    pub lease: bool,
    /// This buyer may die once in a schedule.
    pub dies: Option<usize>,
    /// Whether one more buyer comes at the end if units are left.
    pub asks_alone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every order of the steps.
    Orders,
    /// One user clicks twice.
    Twice,
    /// A dies after this many steps; then A asks again, then B, and C after a lease has expired.
    Crash,
}

fn person(name: &'static str, part: usize) -> Person {
    Person {
        name,
        user: name.to_lowercase(),
        req: format!("req-{}", name.to_lowercase()),
        resent: false,
        product: 1,
        part,
        helps: false,
    }
}

/// The settings for a contender, the smallest first.
pub fn settings(contender: &Contender) -> Vec<Setting> {
    let mut all = vec![
        orders(contender, 0, &["A"]),
        orders(contender, 1, &["A"]),
        orders(contender, 1, &["A", "B"]),
        orders(contender, 2, &["A", "B"]),
    ];
    if contender.lease.is_some() {
        all.push(Setting { lease: true, ..orders(contender, 1, &["A", "B"]) });
    }
    if contender.once_per_user {
        let people =
            vec![person("A", 0), Person { name: "A again", req: "req-2".into(), ..person("A", 1) }];
        all.push(Setting { kind: Kind::Twice, people, ..orders(contender, 2, &[]) });
    }
    all.push(orders(contender, 1, &["A", "B", "C"]));
    all.push(orders(contender, 2, &["A", "B", "C"]));
    all.push(crash(contender));
    all
}

fn orders(contender: &Contender, stock: u64, names: &[&'static str]) -> Setting {
    let mut people: Vec<Person> =
        names.iter().enumerate().map(|(part, name)| person(name, part)).collect();
    if contender.two_products {
        people.iter_mut().skip(1).step_by(2).for_each(|person| person.product = 2);
    }
    people.extend(helper(contender));
    Setting {
        kind: Kind::Orders,
        stock,
        products: products(contender),
        people,
        lease: false,
        dies: None,
        asks_alone: true,
    }
}

fn crash(contender: &Contender) -> Setting {
    let mut people = vec![
        person("A", 0),
        Person { name: "A again", resent: true, ..person("A", 1) },
        person("B", 1),
        person("C", 2),
    ];
    // Helpers that restock or import would hide the effects of the crash.
    people.extend(helper(contender).filter(|_| contender.waits_for_helper));
    Setting {
        kind: Kind::Crash,
        stock: 1,
        products: products(contender),
        people,
        lease: contender.lease.is_some(),
        dies: Some(0),
        asks_alone: false,
    }
}

fn products(contender: &Contender) -> u64 {
    if contender.two_products {
        2
    } else {
        1
    }
}

fn helper(contender: &Contender) -> Option<Person> {
    contender.helper.map(|_| Person { helps: true, part: 3, ..person("helper", 3) })
}
