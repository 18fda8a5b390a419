//! Prints docs/commands.md, written from the command table: `make docs`.

use seckill::command::{docs, table::TABLE};

fn main() {
    print!("{}", docs::markdown(&TABLE));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_commands_page_is_up_to_date() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
        let stored = fs::read_to_string(page).unwrap_or_default();
        assert!(
            stored == docs::markdown(&TABLE),
            "docs/commands.md is stale: run `make docs` and commit it"
        );
    }
}
