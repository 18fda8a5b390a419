//! The file docs/commands.json, from the command table. The file has the form of the JSON files of
//! the servers' own commands, from which client libraries and sites are generated.

use seckill::command::table::TABLE;
use seckill::command::vocabulary::{
    Arg, ArgKind, KeySpec, Spec, KEY_ACCESS, KEY_CHANGE, KEY_INSERT, KEY_NOT_KEY, KEY_READ,
    KEY_UPDATE,
};
use serde_json::{json, Map, Value};

/// The content of `docs/commands.json`. APPLY is left out: only the server calls it.
pub fn text() -> String {
    let commands = TABLE.iter().filter(|spec| !spec.internal);
    let commands: Map<_, _> = commands.map(|spec| (spec.name.to_owned(), command(spec))).collect();
    // Text and numbers can always be written as JSON.
    let mut text = serde_json::to_string_pretty(&commands).unwrap_or_default();
    text.push('\n');
    text
}

fn command(spec: &Spec) -> Value {
    let mut command = json!({
        "summary": spec.summary,
        "complexity": spec.complexity,
        "group": "module",
        "module": "seckill",
        "since": spec.since,
        "arity": spec.arity,
        "command_flags": words(spec.flags),
        "acl_categories": words(spec.acl),
        "key_specs": spec.keys.iter().map(key_spec).collect::<Vec<_>>(),
    });
    if !spec.tips.is_empty() {
        command["command_tips"] = json!(spec.tips);
    }
    if !spec.args.is_empty() {
        command["arguments"] = arguments(spec.args);
    }
    command
}

fn words(words: &str) -> Vec<&str> {
    words.split(' ').collect()
}

fn key_spec(key: &KeySpec) -> Value {
    let begin = match key.option {
        None => json!({ "index": { "pos": key.pos } }),
        Some(option) => json!({ "keyword": { "keyword": option, "startfrom": key.pos } }),
    };
    let find = match key.counted {
        true => json!({ "keynum": { "keynumidx": 0, "firstkey": 1, "step": 1 } }),
        false => json!({ "range": { "lastkey": 0, "step": 1, "limit": 0 } }),
    };
    let flags = KEY_FLAGS.iter().filter(|(_, bit)| key.flags & bit != 0).map(|(name, _)| name);
    json!({ "flags": flags.collect::<Vec<_>>(), "begin_search": begin, "find_keys": find })
}

/// Flags of a key spec with the names that the servers use.
const KEY_FLAGS: [(&str, u64); 6] = [
    ("RO", KEY_READ),
    ("RW", KEY_CHANGE),
    ("ACCESS", KEY_ACCESS),
    ("UPDATE", KEY_UPDATE),
    ("INSERT", KEY_INSERT),
    ("NOT_KEY", KEY_NOT_KEY),
];

fn arguments(args: &[Arg]) -> Value {
    args.iter().map(argument).collect()
}

fn argument(arg: &Arg) -> Value {
    let mut argument = json!({ "name": arg.name, "type": kind(arg.kind) });
    let texts = [
        ("token", arg.token),
        ("display_text", arg.shown),
        ("summary", Some(arg.about).filter(|about| !about.is_empty())),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            argument[name] = json!(text);
        }
    }
    for (name, is_so) in [("optional", arg.optional), ("multiple", arg.multiple)] {
        if is_so {
            argument[name] = json!(true);
        }
    }
    match arg.kind {
        ArgKind::Key => argument["key_spec_index"] = json!(0),
        ArgKind::OutboxKey => argument["key_spec_index"] = json!(1),
        _ => {}
    }
    if !arg.children.is_empty() {
        argument["arguments"] = arguments(arg.children);
    }
    argument
}

fn kind(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::Key | ArgKind::OutboxKey => "key",
        ArgKind::Str => "string",
        ArgKind::Integer | ArgKind::Delta | ArgKind::Span => "integer",
        ArgKind::UnixTime => "unix-time",
        ArgKind::PureToken => "pure-token",
        ArgKind::OneOf => "oneof",
        ArgKind::Block => "block",
    }
}
