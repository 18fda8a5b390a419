//! The rows in SQL on databases other than MariaDB: which results differ, and which do not.

use std::fmt::Write;

use crate::contender::Contender;
use crate::interleave::explore::Proof;
use crate::page::words::{fault, Language};
use crate::report::{Elsewhere, Report};
use crate::strategies::ALL;

/// A column for each database, a line for each row that differs on one; then the other rows.
pub fn table(report: &Report, language: Language) -> String {
    if report.elsewhere.is_empty() {
        return language.of(("Not played in this run.", "这次运行没有跑。")).to_owned();
    }
    let differs = |one: &&Contender| report.elsewhere.iter().any(|on| on.proof(one.id).is_some());
    let mut table = String::new();
    let mut head = vec![language.of(("row", "编号")), report.host.mariadb.as_str()];
    head.extend(report.elsewhere.iter().map(|on| on.database.as_str()));
    let _ = writeln!(table, "| {} |\n|{}", head.join(" | "), " --- |".repeat(head.len()));
    for one in ALL.iter().filter(differs) {
        let here = report.proofs.iter().find(|proof| proof.id == one.id);
        let mut cells = vec![here.map_or("-".into(), |proof| found(proof, language))];
        let there = |on: &Elsewhere| match on.proof(one.id) {
            Some(proof) => found(proof, language),
            None if on.same.iter().any(|id| id == one.id) => {
                language.of(("as MariaDB", "同 MariaDB")).to_owned()
            }
            None => language.of(("not run", "没有跑")).to_owned(),
        };
        cells.extend(report.elsewhere.iter().map(there));
        let anchor = one.id.to_lowercase();
        let _ = writeln!(table, "| [{}](#{anchor}) | {} |", one.id, cells.join(" | "));
    }
    for on in &report.elsewhere {
        let (database, same) = (&on.database, on.same.join(", "));
        let _ = match language {
            Language::English => writeln!(table, "\nThe same on {database}: {same}."),
            Language::Chinese => writeln!(table, "\n{database} 上结果相同：{same}。"),
        };
    }
    table
}

impl Elsewhere {
    fn proof(&self, id: &str) -> Option<&Proof> {
        self.different.iter().find(|proof| proof.id == id)
    }
}

fn found(proof: &Proof, language: Language) -> String {
    let faults: Vec<&str> = proof.faults().into_iter().map(|one| language.of(fault(one))).collect();
    match faults.is_empty() {
        true => format!("**{}**", language.of(("exact", "准确"))),
        false => faults.join(language.of(("; ", "；"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;

    fn proof(id: &str) -> Proof {
        Proof { id: id.into(), schedules: 1, complete: true, findings: Vec::new() }
    }

    #[test]
    fn a_row_has_a_line_where_it_differs_and_its_name_where_it_does_not() {
        let on = |database: &str, same: &str, different: Vec<Proof>| Elsewhere {
            database: database.into(),
            same: vec![same.into()],
            different,
        };
        let report = Report {
            host: Host { mariadb: "MariaDB 10".into(), ..Host::default() },
            proofs: vec![proof("M03"), proof("M04")],
            cells: Vec::new(),
            facts: Vec::new(),
            elsewhere: vec![
                on("MySQL 9", "M04", Vec::new()),
                on("PostgreSQL 15", "M03", vec![proof("M04")]),
            ],
        };
        assert_eq!(
            table(&report, Language::English),
            "| row | MariaDB 10 | MySQL 9 | PostgreSQL 15 |\n| --- | --- | --- | --- |\n\
             | [M04](#m04) | **exact** | as MariaDB | **exact** |\n\
             \nThe same on MySQL 9: M04.\n\nThe same on PostgreSQL 15: M03.\n"
        );
    }
}
