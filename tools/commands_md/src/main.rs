//! Prints docs/commands.md, written from the command table: `make docs`.

fn main() {
    print!("{}", seckill::command::docs::markdown());
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_commands_page_is_up_to_date() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
        let stored = fs::read_to_string(page).unwrap_or_default();
        assert!(
            stored == seckill::command::docs::markdown(),
            "docs/commands.md is stale: run `make docs` and commit it"
        );
    }
}
