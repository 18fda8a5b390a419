//! A schedule in readable form: one column for each buyer, one line for each step.

use serde::{Deserialize, Serialize};

use crate::interleave::Played;
use crate::told::{Reason, Verdict};

/// The answer to a buyer in one or two words.
pub fn told(verdict: Verdict) -> String {
    let text = match verdict {
        Verdict::Won(1) => "told: yours",
        Verdict::Won(units) => return format!("told: yours, {units}"),
        Verdict::Again(_) => "told: yours, as before",
        Verdict::Restocked(units) => return format!("{units} units are back"),
        Verdict::Done => "done",
        Verdict::Lost(Reason::SoldOut) => "told: sold out",
        Verdict::Lost(Reason::Conflict) => "told: bad luck, try again",
        Verdict::Lost(Reason::Busy) => "told: busy, try again",
        Verdict::Lost(Reason::Failed) => "told: payment failed",
        Verdict::Lost(Reason::Already) => "told: you have one",
        Verdict::Lost(Reason::SoldOutInside) => "told: you are in; then: sold out",
        Verdict::Lost(Reason::Error) => "told: HTTP 500",
        Verdict::Lost(Reason::Hangs) => "never gets an answer (stopped here)",
        Verdict::Lost(Reason::Shed) => "told: too hot, try later",
    };
    text.into()
}

/// A schedule in printable form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    pub stock: u64,
    pub buyers: Vec<String>,
    pub lines: Vec<Shown>,
    /// The stock at the end.
    pub end: String,
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The column; `None` for all columns.
    pub column: Option<usize>,
    pub text: String,
    /// Whether the line is a step and has a number.
    pub step: bool,
}

/// Most lines of an endless loop that are shown.
const LINES: usize = 22;

impl Timeline {
    pub fn of(stock: u64, played: &Played) -> Timeline {
        let came = |who: &usize| played.outcomes[*who].first.is_some();
        let columns: Vec<usize> = (0..played.people.len()).filter(came).collect();
        let column = |who: usize| columns.iter().position(|one| *one == who);
        let lines = (played.lines.iter())
            .filter(|line| line.who.is_none_or(|who| came(&who)))
            .map(|line| Shown {
                column: line.who.and_then(column),
                text: line.text.clone(),
                step: line.is_step,
            })
            .collect();
        let buyers = columns.iter().map(|who| played.people[*who].name.to_owned()).collect();
        Timeline { stock, buyers, lines: shortened(lines), end: end(played) }
    }

    /// The timeline as text: one column for each buyer, or buyers below each other if their steps
    /// don't mix.
    pub fn text(&self) -> String {
        let columns: Vec<usize> = self.lines.iter().filter_map(|line| line.column).collect();
        let lines = match columns.is_sorted() && self.buyers.len() > 1 {
            true => self.below_each_other(),
            false => self.beside_each_other(),
        };
        format!("stock {}\n{lines}end: {}\n", self.stock, self.end)
    }

    fn below_each_other(&self) -> String {
        let mut text = String::new();
        let (mut step, mut last) = (0, None);
        for line in &self.lines {
            if let Some(column) = line.column.filter(|column| last != Some(*column)) {
                text.push_str(&format!("     {}\n", self.buyers[column]));
                last = line.column;
            }
            text.push_str(&line.numbered(&mut step, 2));
        }
        text
    }

    fn beside_each_other(&self) -> String {
        let widths: Vec<usize> = (0..self.buyers.len())
            .map(|column| {
                let here = self.lines.iter().filter(|line| line.column == Some(column));
                let widest = here.map(|line| line.text.chars().count()).max().unwrap_or(0);
                widest.max(self.buyers[column].len()) + 2
            })
            .collect();
        let indent = |column: usize| widths[..column].iter().sum::<usize>();
        let mut text = String::from("step ");
        for (column, name) in self.buyers.iter().enumerate() {
            text = format!("{text:<width$}{name}", width = 5 + indent(column));
        }
        text.push('\n');
        let mut step = 0;
        for line in &self.lines {
            text.push_str(&line.numbered(&mut step, line.column.map_or(0, indent)));
        }
        text
    }
}

impl Shown {
    /// The line with its number, if it is a step, after this many spaces.
    fn numbered(&self, step: &mut usize, indent: usize) -> String {
        *step += usize::from(self.step);
        let number = if self.step { step.to_string() } else { String::new() };
        let place = if self.column.is_some() { "" } else { "*** " };
        format!("{number:>3}  {:indent$}{place}{}\n", "", self.text)
    }
}

fn shortened(lines: Vec<Shown>) -> Vec<Shown> {
    if lines.len() <= LINES + 2 {
        return lines;
    }
    let (mut short, last) = (lines[..LINES].to_vec(), lines[lines.len() - 1].clone());
    let text = format!("… and so on, {} lines more", lines.len() - LINES - 1);
    short.push(Shown { text, step: false, ..last.clone() });
    short.push(last);
    short
}

fn end(played: &Played) -> String {
    let mut end = format!("{} told \"yours\" of {}", played.wins(), played.supply);
    if let Some(counter) = played.books.counter {
        end.push_str(&format!("; the stock says {counter}"));
    }
    if let Some(records) = played.books.records {
        end.push_str(&format!("; {records} on record"));
    }
    if let Some(verdict) = played.alone {
        end.push_str(&format!("; who comes alone afterwards is {}", told(verdict)));
    }
    end
}
