//! `make lab-php`: the posts' PHP, unchanged and corrected, beside a page that calls SECKILL.GRAB.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use seckill_harness::program::{exit_told, module_file};
use seckill_lab::page::fill_page;
use seckill_lab::page::tables::{speed_shown, spread};
use seckill_lab::page::words::Language;
use seckill_lab::php::{Shown, Site, PAGES};
use seckill_lab::progress::Progress;
use seckill_lab::quiet;
use seckill_lab::rush::cell::Spread;

#[derive(Parser)]
struct Options {
    /// Only pages whose name or query contains this.
    #[arg(long)]
    only: Option<String>,
    /// Number of ab runs for each page, with 4,000 requests each.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Measure also on a busy machine.
    #[arg(long)]
    busy: bool,
    /// Write the table into lab.md and zh/lab.md of this folder.
    #[arg(long)]
    docs: Option<PathBuf>,
    /// The folder with the pages.
    #[arg(long, default_value = "lab/php")]
    pages: PathBuf,
    /// The module to load (default: the one beside this program).
    #[arg(long)]
    module: Option<PathBuf>,
}

fn main() -> ExitCode {
    exit_told(lab(Options::parse()))
}

fn lab(options: Options) -> Result<bool, String> {
    let pages = options.pages.canonicalize().map_err(|e| format!("no folder with pages: {e}"))?;
    if options.docs.is_some() && (options.only.is_some() || options.runs < 3) {
        return Err("The table of the page is of all pages, at least three runs each.".into());
    }
    if options.docs.is_some() && !options.busy {
        quiet::wait_until_quiet()?;
    }
    let site = Site::start(&module_file(options.module)?, &pages)?;
    let named = |page: &&seckill_lab::php::Page| {
        let name = format!("{}{}", page.name, page.query);
        options.only.as_ref().is_none_or(|only| name.contains(only))
    };
    let all: Vec<_> = PAGES.iter().filter(named).collect();
    let mut progress = Progress::new(all.len() as u64);
    let mut shown = Vec::new();
    for page in all {
        progress.at(&format!("ab -c 500 -n 4000 {}.php{}", page.name, page.query));
        let runs: Result<Vec<Shown>, String> = (0..options.runs).map(|_| site.show(page)).collect();
        shown.push(runs?);
        progress.done();
    }
    progress.end();
    let english = table(Language::English, &shown);
    println!("{english}");
    for (what, count) in site.errors() {
        println!("{count} x {what}");
    }
    if let Some(docs) = options.docs {
        fill_page(&docs.join("lab.md"), "php", &english)?;
        fill_page(&docs.join("zh/lab.md"), "php", &table(Language::Chinese, &shown))?;
    }
    let ours = shown.iter().flatten().filter(|shown| shown.page == "seckill");
    Ok(ours.into_iter().all(|ours| ours.won == 100 && ours.errors == 0))
}

/// A line for each page: the median of its runs with smallest and largest, and the data of the
/// median run.
fn table(language: Language, pages: &[Vec<Shown>]) -> String {
    let head = language.of((
        "page | told \"yours\" of 100 | HTTP 500 | the books | pages/s",
        "页面 | 返回成功 / 100 | HTTP 500 | 账面 | 每秒页面",
    ));
    let mut table = format!("| {head} |\n|{}\n", " --- |".repeat(5));
    for runs in pages {
        let of = |value: fn(&Shown) -> f64| Spread::of(runs.iter().map(value));
        let mut sorted: Vec<&Shown> = runs.iter().collect();
        sorted.sort_by_key(|run| run.won);
        let middle = sorted[runs.len() / 2];
        let speed = of(|run| run.per_second).if_steady(runs.len());
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} |",
            middle.page,
            spread(of(|run| run.won as f64)),
            spread(of(|run| run.errors as f64)),
            middle.books,
            speed_shown(speed, language),
        );
    }
    table
}
