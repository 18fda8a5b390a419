//! Prints docs/commands.md, written from the command table: `make docs`.

fn main() {
    print!("{}", seckill::command::docs::markdown());
}
