//! How commands are called, written from the table.

/// What pages list beside the commands.
pub use crate::server::module::info::fields;
pub use crate::server::settings::ALL as SETTINGS;

use super::vocabulary::{Arg, ArgKind, Spec};

/// How a command is called: `SECKILL.GRAB key user [QTY qty | UPTO upto] [REQ id]`.
pub fn grammar(spec: &Spec) -> String {
    let words = spec.args.iter().map(grammar_of);
    std::iter::once(spec.name.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// How an argument is given: `QTY n`, `[REQ id]`.
pub fn grammar_of(arg: &Arg) -> String {
    let children =
        |between: &str| arg.children.iter().map(grammar_of).collect::<Vec<_>>().join(between);
    let value = match arg.kind {
        ArgKind::PureToken => String::new(),
        ArgKind::Block => children(" "),
        ArgKind::OneOf => children(" | "),
        _ => arg.shown.unwrap_or(arg.name).to_owned(),
    };
    let mut text = match arg.token {
        None => value,
        Some(token) if value.is_empty() => token.to_owned(),
        Some(token) => format!("{token} {value}"),
    };
    if arg.multiple {
        text = format!("{text} [{text} ...]");
    }
    if arg.optional {
        text = format!("[{text}]");
    }
    text
}

/// A command's line in HELP.
pub fn help_line(spec: &Spec) -> String {
    format!("{} -- {}", grammar(spec), spec.summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table::TABLE;

    fn grammar_named(name: &str) -> String {
        TABLE.iter().find(|spec| spec.name == name).map(grammar).unwrap_or_default()
    }

    #[test]
    fn grammars_read_as_callers_type_them() {
        for line in [
            "SECKILL.GRAB key user [QTY n | UPTO n] [REQ id] [WAIT [UNTIL ms]]",
            "SECKILL.RESTOCK key delta REQ id",
            "SECKILL.STATUS key [JSON]",
            "SECKILL.APPLY key position effect [effect ...]",
            "SECKILL.HELP",
        ] {
            let name = line.split(' ').next().unwrap_or_default();
            assert_eq!(grammar_named(name), line);
        }
    }
}
