//! Runs the whole lab: interleaver, rush, facts, and a comparison with the marks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::{presets, Table};

use crate::contender::Contender;
use crate::facts::facts;
use crate::interleave::explore::{prove, Proof};
use crate::interleave::stage::Stage;
use crate::page::words::Language;
use crate::page::{self, schedules, summary as sums};
use crate::progress::Progress;
use crate::quiet;
use crate::report::{Elsewhere, Report};
use crate::rush::cell::Cell;
use crate::rush::cell::Crowd;
use crate::rush::{Plan, Pool};
use crate::servers::Servers;
use crate::strategies::chosen;
use crate::told::Maker;

/// The options of a run.
pub struct Wanted {
    pub quick: bool,
    pub only: Vec<String>,
    /// Only the interleaver. Nothing is written, because a page needs a whole run.
    pub proofs: bool,
    pub maker: Maker,
    pub docs: Option<PathBuf>,
    /// Measure also on a busy machine.
    pub busy: bool,
}

impl Wanted {
    fn is_whole(&self) -> bool {
        !self.quick && !self.proofs && self.only.is_empty()
    }
}

/// Most schedules of one setting, and the repeats of a cell.
struct Size {
    schedules: usize,
    schedules_sql: usize,
    redis: Plan,
    sql: Plan,
    crowd: Plan,
    workers: &'static [usize],
    workers_sql: &'static [usize],
}

fn size(quick: bool) -> Size {
    let plan = |requests, repeats, ms| Plan {
        requests,
        repeats,
        crashes: false,
        at_most: Duration::from_millis(ms),
    };
    match quick {
        false => Size {
            schedules: 600,
            schedules_sql: 120,
            redis: plan(4000, 20, 2000),
            sql: plan(4000, 5, 3000),
            crowd: plan(4000, 5, 1000),
            workers: &[8, 50, 500],
            workers_sql: &[8, 50],
        },
        true => Size {
            schedules: 120,
            schedules_sql: 36,
            redis: plan(4000, 1, 0),
            sql: plan(800, 1, 0),
            crowd: plan(800, 1, 0),
            workers: &[50],
            workers_sql: &[8],
        },
    }
}

/// Runs the chosen parts and prints the results; false if a row contradicts its mark.
///
/// # Errors
/// A message if the lab itself fails.
pub fn lab(module: &Path, wanted: &Wanted) -> Result<bool, String> {
    let rows: Vec<_> = (chosen(&wanted.only)?.into_iter())
        .filter(|row| !row.needs.sql || row.runs_on(wanted.maker))
        .collect();
    let size = size(wanted.quick);
    let sql = rows.iter().any(|row| row.needs.sql);
    if wanted.is_whole() && wanted.docs.is_some() && !wanted.busy {
        quiet::wait_until_quiet()?;
    }
    let load = quiet::load_now();
    if !wanted.proofs && !quiet::is_quiet(&load) {
        eprintln!("This machine has other work (load {load}): counts hold, speeds do not.");
    }
    let most = match wanted.proofs {
        true => 0,
        false => rows.iter().flat_map(|row| workers(row, &size)).max().unwrap_or(8),
    };
    let servers = Servers::start(module, most + 50, sql.then_some(wanted.maker))?;
    let others: &[Maker] = match wanted.is_whole() {
        true => &[Maker::MySql, Maker::Postgres],
        false => &[],
    };
    let on = |maker: &Maker| rows.iter().filter(|row| row.runs_on(*maker)).count();
    let again: usize = others.iter().map(on).sum();
    let parts = if wanted.proofs { 1 } else { 2 };
    let mut progress = Progress::new((rows.len() * parts + again) as u64);
    let mut contradictions = Vec::new();
    let mut run = Run { maker: wanted.maker, size: &size, progress: &mut progress };
    let proofs = run.prove_all(&servers, &rows, &mut contradictions)?;
    let mut host = servers.host(sql)?;
    host.load.0 = load;
    servers.be_durable(true)?;
    let cells = match wanted.proofs {
        true => Vec::new(),
        false => run.rush_all(&servers, &rows, &mut contradictions)?,
    };
    host.load.1 = quiet::load_now();
    let facts = facts(&servers, sql && wanted.maker != Maker::Postgres)?;
    contradictions.extend(
        facts
            .iter()
            .filter(|fact| !fact.holds)
            .map(|fact| format!("{}: {} -> {}", fact.id, fact.asked, fact.said)),
    );
    drop(servers);
    let elsewhere = others.iter().map(|maker| {
        run.maker = *maker;
        run.elsewhere(module, &rows, &proofs, &mut contradictions)
    });
    let elsewhere = elsewhere.collect::<Result<_, _>>()?;
    progress.end();
    host.seconds = progress.seconds();
    let report = Report { host, proofs, cells, facts, elsewhere };
    if wanted.proofs || !wanted.only.is_empty() {
        println!("{}", schedules::timelines(&report, Language::English));
    }
    println!("{}", summary(&report, &rows));
    if let Some(docs) = wanted.docs.as_ref().filter(|_| wanted.is_whole()) {
        page::write(&report, docs)?;
        println!("Written into {}: lab.json, lab.svg, lab.md, zh/lab.md", docs.display());
    }
    contradictions.iter().for_each(|contradiction| println!("CONTRADICTION {contradiction}"));
    println!(
        "{} rows, {} schedules, {} cells, {} contradictions, {} s",
        rows.len(),
        report.proofs.iter().map(|proof| proof.schedules).sum::<usize>(),
        report.cells.len(),
        contradictions.len(),
        report.host.seconds
    );
    Ok(contradictions.is_empty())
}

/// One run of the lab, with one database after the other.
struct Run<'r> {
    maker: Maker,
    size: &'r Size,
    progress: &'r mut Progress,
}

impl Run<'_> {
    /// Runs the rows in SQL on another database.
    fn elsewhere(
        &mut self,
        module: &Path,
        rows: &[&'static Contender],
        on_mariadb: &[Proof],
        contradictions: &mut Vec<String>,
    ) -> Result<Elsewhere, String> {
        let servers = Servers::start(module, 50, Some(self.maker))?;
        let rows: Vec<_> = rows.iter().filter(|row| row.runs_on(self.maker)).copied().collect();
        let found = self.prove_all(&servers, &rows, contradictions)?;
        Ok(Elsewhere::of(servers.database_version()?, found, on_mariadb))
    }

    fn prove_all(
        &mut self,
        servers: &Servers,
        rows: &[&'static Contender],
        contradictions: &mut Vec<String>,
    ) -> Result<Vec<Proof>, String> {
        let mut stage = Stage::new(servers)?;
        let mut proofs = Vec::new();
        for row in rows {
            let on = if row.needs.sql { self.maker.name() } else { "Redis" };
            self.progress.at(&format!("{} interleaver on {on}: {}", row.id, row.steps));
            let size = self.size;
            let limit = if row.needs.sql { size.schedules_sql } else { size.schedules };
            let proof = prove(&mut stage, row, limit)?;
            for contradiction in proof.contradictions(row, self.maker) {
                self.progress.say(&contradiction);
                contradictions.push(contradiction);
            }
            proofs.push(proof);
            self.progress.done();
        }
        Ok(proofs)
    }

    fn rush_all(
        &mut self,
        servers: &Servers,
        rows: &[&'static Contender],
        contradictions: &mut Vec<String>,
    ) -> Result<Vec<Cell>, String> {
        let size = self.size;
        let most = rows.iter().flat_map(|row| workers(row, size)).max().unwrap_or(8);
        let with_sql = if rows.iter().any(|row| row.needs.sql) { 50.min(most) } else { 0 };
        let mut pool = Pool::new(servers, most, with_sql)?;
        let mut cells = Vec::new();
        for row in rows {
            let mut plan = if row.needs.sql { size.sql } else { size.redis };
            if let Some((requests, _)) = row.rush.requests {
                plan.requests = requests.min(plan.requests);
            }
            let mut crowds: Vec<_> =
                workers(row, size).into_iter().map(|c| (c, Crowd::Distinct, plan)).collect();
            let middle = workers(row, size).into_iter().filter(|c| *c <= 50).max().unwrap_or(8);
            crowds.push((middle, Crowd::DoubleClicks, size.crowd));
            for (c, crowd, plan) in crowds {
                self.progress.at(&format!("{} rush, c = {c}: {}", row.id, row.steps));
                let cell = pool.cell(servers, row, (c, crowd), plan)?;
                for contradiction in cell.contradictions(row) {
                    self.progress.say(&contradiction);
                    contradictions.push(contradiction);
                }
                cells.push(cell);
            }
            self.progress.done();
        }
        Ok(cells)
    }
}

/// The numbers of workers for a row.
fn workers(row: &Contender, size: &Size) -> Vec<usize> {
    let all = if row.needs.sql { size.workers_sql } else { size.workers };
    match row.rush.at_most {
        Some((most, _)) => vec![most],
        None => all.to_vec(),
    }
}

/// The module's rows: exact in 100 of 100 rushes for each number of workers, with and without
/// crashes.
///
/// # Errors
/// A message if the lab itself fails.
pub fn soak(module: &Path, wanted: &Wanted) -> Result<bool, String> {
    let rows: Vec<_> = chosen(&wanted.only)?.into_iter().filter(|row| row.is_ours()).collect();
    let repeats = if wanted.quick { 5 } else { 100 };
    let servers = Servers::start(module, 550, Some(Maker::MariaDb))?;
    let mut pool = Pool::new(&servers, 500, 50)?;
    let mut progress = Progress::new(rows.len() as u64 * 6);
    let (mut exact, mut all, mut failures) = (0, 0, Vec::new());
    for row in &rows {
        for crashes in [false, true] {
            for c in [8, 50, 500] {
                progress.at(&format!("{} soak, c = {c}, crashes: {crashes}", row.id));
                let at_most = Duration::from_secs(3600);
                let plan = Plan { requests: 4000, repeats, crashes, at_most };
                // Helper and desk have a database connection; the buyers of S03 need none.
                let cell = pool.cell(&servers, row, (c, Crowd::Distinct), plan)?;
                let wrong = cell.contradictions(row);
                all += cell.repeats;
                exact += if wrong.is_empty() { cell.repeats } else { 0 };
                failures.extend(wrong.into_iter().map(|w| format!("{w} (crashes: {crashes})")));
                progress.done();
            }
        }
    }
    progress.end();
    failures.iter().for_each(|failure| println!("CONTRADICTION {failure}"));
    println!(
        "{} rows, c = 8, 50, 500, without and with crashes: {exact} of {all} rushes exact, {} s",
        rows.len(),
        progress.seconds()
    );
    Ok(failures.is_empty())
}

/// The table on the terminal, one line for each row.
fn summary(report: &Report, rows: &[&'static Contender]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["row", "steps", "too many", "too few", "two", "decisions/s", "found"]);
    for row in rows {
        // Without a rush there are no counts.
        let most = |column: fn(&Cell) -> f64| {
            let here = report.cells.iter().filter(|cell| cell.id == row.id);
            here.map(column).reduce(f64::max).map_or("-".to_owned(), |most| format!("{most:.0}"))
        };
        let proof = report.proofs.iter().find(|proof| proof.id == row.id);
        let found: Vec<String> = proof
            .map(|proof| proof.findings.iter().map(|f| format!("{:?}", f.fault)).collect())
            .unwrap_or_default();
        table.add_row([
            row.id.to_owned(),
            row.steps.chars().take(44).collect(),
            most(|cell| cell.oversold.most),
            most(|cell| cell.undersold.most),
            most(|cell| cell.users_with_two.most),
            most(|cell| cell.decisions_per_s.middle),
            found.join(" "),
        ]);
    }
    table
}

/// Prints the results of an earlier run, row by row; with `docs` writes its pages again.
///
/// # Errors
/// A message that names the file.
pub fn again(from: &Path, docs: Option<&Path>) -> Result<(), String> {
    let text = std::fs::read_to_string(from).map_err(|e| format!("{}: {e}", from.display()))?;
    let report: Report =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", from.display()))?;
    println!("{}", sums::counted(&report));
    docs.map_or(Ok(()), |docs| page::write(&report, docs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;

    #[test]
    fn what_was_not_loaded_has_no_figures() {
        let (proofs, cells, facts) = (Vec::new(), Vec::new(), Vec::new());
        let (host, elsewhere) = (Host::default(), Vec::new());
        let report = Report { host, proofs, cells, facts, elsewhere };
        let rows = chosen(&["R02".to_owned()]).expect("a row");
        let table = summary(&report, &rows).to_string();
        let figures = table.split_whitespace().filter(|word| *word == "-").count();
        assert_eq!(figures, 4, "{table}");
    }
}
