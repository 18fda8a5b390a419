//! `make bench-balances`: the domain alone, without a server: what a grab costs once it is parsed.

use std::hint::black_box;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use seckill_domain::decide::decide_new;
use seckill_domain::ledger::HashKey;
use seckill_domain::request::{Amount, Grab, Init, Now, Request};
use seckill_domain::terms::Terms;
use seckill_domain::Sale;

const NOW: Now = Now { clock_ms: 1_700_000_000_000, run: 1_700_000_000_000 };
/// Grabs in one measured step.
const BATCH: u64 = 1_000;

fn new_sale(supply: u64) -> Sale {
    let terms = Terms { limit: 1, ..Terms::default() };
    let init = Init { supply, terms, amounts: Vec::new(), id: 1, secret: [7; 16] };
    let plan = decide_new(&init, &NOW).plan.expect("a new sale begins with a change");
    let key: HashKey = [1, 2];
    plan.create(key).expect("a new sale")
}

fn user(number: u64) -> String {
    // A prime, so that neighbours are far apart and no two are alike.
    format!("user:{:012}", number * 2_654_435_761 % 100_000_000)
}

/// Decides and applies, as one call of the server does.
fn grab(sale: &mut Sale, user: &str) {
    let grab = Grab { user: user.as_bytes(), amount: Amount::Exactly(1), req: None };
    let decision = sale.decide(&Request::Grab(grab), &NOW);
    if let Some(plan) = &decision.plan {
        sale.commit(plan);
    }
    black_box(decision.outcome);
}

fn with_winners(supply: u64, winners: u64) -> Sale {
    let mut sale = new_sale(supply);
    (0..winners).for_each(|number| grab(&mut sale, &user(number)));
    sale
}

fn winning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("grant");
    group.throughput(Throughput::Elements(BATCH));
    let users: Vec<String> = (0..BATCH).map(|number| user(50_000_000 + number)).collect();
    for winners in [10_000, 1_000_000] {
        let sale = with_winners(u64::MAX >> 12, winners);
        group.bench_function(format!("{winners} winners"), |bencher| {
            bencher.iter_batched_ref(
                || sale.clone(),
                |sale| users.iter().for_each(|user| grab(sale, user)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn refused(criterion: &mut Criterion) {
    for winners in [10_000, 1_000_000] {
        let mut sale = with_winners(winners, winners);
        let mut group = criterion.benchmark_group(format!("refuse with {winners} winners"));
        group.throughput(Throughput::Elements(BATCH));
        for (name, first) in [("already", 0), ("sold out", 50_000_000)] {
            let step = if first == 0 { winners / BATCH } else { 1 };
            let users: Vec<String> = (0..BATCH).map(|at| user(first + at * step)).collect();
            group.bench_function(name, |bencher| {
                bencher.iter(|| users.iter().for_each(|user| grab(&mut sale, user)));
            });
        }
        group.finish();
    }
}

fn brief() -> Criterion {
    let brief = Criterion::default().warm_up_time(Duration::from_millis(500));
    brief.measurement_time(Duration::from_secs(3)).sample_size(30)
}

criterion_group! { name = benches; config = brief(); targets = winning, refused }
criterion_main!(benches);
