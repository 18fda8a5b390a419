//! A buyer's database calls: statements as in the posts, each one round trip.

use crate::buyer::Buyer;
use crate::session::Answer;
use crate::told::Stop;

impl Buyer {
    /// The rows of a statement, as numbers; NULL is 0.
    fn numbers(&mut self, statement: &str) -> Result<Vec<Vec<i64>>, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            let rows = buyer.said(statement)?.rows;
            let cell = |cell: &Option<String>| match cell {
                Some(text) => text.parse().map_err(|_| {
                    Stop::Trouble(format!("{statement}: another row than expected: {text}"))
                }),
                None => Ok(0),
            };
            let numbers: Result<Vec<Vec<i64>>, Stop> =
                rows.iter().map(|row| row.iter().map(cell).collect()).collect();
            let numbers = numbers?;
            let shown = match rows.is_empty() {
                true => "no row".into(),
                false => rows.concat().into_iter().map(or_null).collect::<Vec<_>>().join(", "),
            };
            Ok((numbers, move || format!("{statement} -> {shown}")))
        })
    }

    /// The first row, if there is one.
    pub fn row<const N: usize>(&mut self, statement: &str) -> Result<Option<[i64; N]>, Stop> {
        let Some(row) = self.numbers(statement)?.into_iter().next() else { return Ok(None) };
        let wide = |row: Vec<i64>| Stop::Trouble(format!("{statement}: {} columns", row.len()));
        row.try_into().map(Some).map_err(wide)
    }

    /// The first column of all rows.
    pub fn column(&mut self, statement: &str) -> Result<Vec<i64>, Stop> {
        Ok(self.numbers(statement)?.into_iter().filter_map(|row| row.first().copied()).collect())
    }

    /// The first column of the first row; 0 without a row.
    pub fn number(&mut self, statement: &str) -> Result<i64, Stop> {
        Ok(self.column(statement)?.first().copied().unwrap_or(0))
    }

    /// Runs a statement. Returns the number of affected rows.
    pub fn run(&mut self, statement: &str) -> Result<u64, Stop> {
        self.step(|buyer| {
            buyer.round_trips += 1;
            let rows = buyer.said(statement)?.changed;
            let verb = statement.split(' ').next().unwrap_or_default();
            let shown = match verb {
                "BEGIN" | "COMMIT" | "ROLLBACK" => statement.to_owned(),
                _ => format!("{statement} -> {rows} row{}", if rows == 1 { "" } else { "s" }),
            };
            Ok((rows, move || shown))
        })
    }

    pub fn begin(&mut self) -> Result<(), Stop> {
        self.run("BEGIN")?;
        self.in_transaction = true;
        Ok(())
    }

    pub fn commit(&mut self) -> Result<(), Stop> {
        self.run("COMMIT")?;
        self.in_transaction = false;
        Ok(())
    }

    pub fn rollback(&mut self) -> Result<(), Stop> {
        self.run("ROLLBACK")?;
        self.in_transaction = false;
        Ok(())
    }

    /// Runs a statement and adds its result, or its exception, to the timeline.
    fn said(&mut self, statement: &str) -> Result<Answer, Stop> {
        self.gate.asks(statement);
        let out = self.session()?.ask(statement);
        if let Err(Stop::Sql(error)) = &out {
            self.gate.note(|| format!("{statement} -> error {}", error.code));
        }
        out
    }
}

fn or_null(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "NULL".into())
}
