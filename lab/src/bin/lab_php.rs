//! `make lab-php`: the posts' PHP, as printed and as meant, next to a page that calls SECKILL.GRAB.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use seckill_harness::program::{exit_told, module_file};
use seckill_lab::page::fill_page;
use seckill_lab::php::{Shown, Site, PAGES};
use seckill_lab::progress::Progress;

#[derive(Parser)]
struct Options {
    /// Only pages whose name or query contains this.
    #[arg(long)]
    only: Option<String>,
    /// Writes the table into lab.md and zh/lab.md of this folder.
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
        shown.push(site.show(page)?);
        progress.done();
    }
    progress.end();
    let heads = [
        "page | told \"yours\" of 100 | HTTP 500 | the books | pages/s",
        "页面 | 被告知抢到 / 100 | HTTP 500 | 账面 | 每秒页面",
    ];
    let english = table(heads[0], &shown);
    println!("{english}");
    for (what, count) in site.errors() {
        println!("{count} x {what}");
    }
    if let Some(docs) = options.docs {
        fill_page(&docs.join("lab.md"), "php", &english)?;
        fill_page(&docs.join("zh/lab.md"), "php", &table(heads[1], &shown))?;
    }
    let ours = shown.iter().find(|shown| shown.page == "seckill");
    Ok(ours.is_none_or(|ours| ours.won == 100 && ours.errors == 0))
}

fn table(head: &str, shown: &[Shown]) -> String {
    let mut table = format!("| {head} |\n|{}\n", " --- |".repeat(5));
    for Shown { page, won, errors, books, per_second } in shown {
        let _ = writeln!(table, "| {page} | {won} | {errors} | {books} | {per_second:.0} |");
    }
    table
}
