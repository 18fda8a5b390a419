//! The output of callgrind: instructions of the module's own code, by source file.

use std::collections::BTreeMap;

/// Instructions of C library functions that the module calls.
pub const C_LIBRARY: &str = "the C library, called by these";
const STANDARD_LIBRARY: &str = "the standard library";

/// Instructions under one load.
pub struct Profile {
    pub total: f64,
    /// The module's own instructions, by folder, file or crate of their code.
    pub parts: BTreeMap<String, f64>,
}

/// The place where a line of code is defined.
enum Home {
    Ours(String),
    Crate(String),
    Standard,
}

impl Home {
    /// Finds the home by a file name. The name starts at the package root or above it.
    fn of(file: &str) -> Home {
        if let Some((_, path)) = file.split_once("/registry/src/") {
            let name = path.split('/').nth(1).unwrap_or_default();
            let name = name.rsplit_once('-').map_or(name, |(name, _version)| name);
            return Home::Crate(format!("the crate {name}"));
        }
        match file.rsplit_once("src/") {
            Some((above, path)) if !above.contains("/rustc/") => Home::Ours(room(above, path)),
            _ => Home::Standard,
        }
    }
}

/// A folder of the shell or of the domain; each may be compiled from its own root.
fn room(above: &str, path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next().unwrap_or_default(), parts.next()) {
        ("server", Some(part)) => format!("`src/server/{part}`"),
        (part @ ("server" | "command"), _) => format!("`src/{part}`"),
        ("lib.rs", _) if !above.ends_with("domain/") => "`src/lib.rs`".to_owned(),
        (part, _) => format!("`domain/src/{part}`"),
    }
}

/// Reads a profile that names its files in full; `module` is the file name of the module. Inlined
/// code of the module counts at its own source file. Inlined code of a library counts for the code
/// before it in the function, because the profile does not name its caller.
pub fn read(text: &str, module: &str) -> Option<Profile> {
    let (mut is_ours, mut is_call, mut calls_c) = (false, false, false);
    let (mut total, mut parts) = (None, BTreeMap::new());
    let mut home = String::new();
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("totals: ") {
            total = number.trim().parse().ok();
        } else if let Some((key, value)) = line.split_once('=') {
            match (key, Home::of(value)) {
                ("ob", _) => is_ours = value.ends_with(module),
                ("cob", _) => calls_c = value.contains("/libc.so"),
                ("calls", _) => is_call = true,
                ("fl" | "fi" | "fe", Home::Ours(room)) => home = room,
                ("fl", Home::Crate(name)) => home = name,
                ("fl", Home::Standard) => home = STANDARD_LIBRARY.to_owned(),
                _ => {}
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit()) && is_ours {
            let cost: f64 = line.split_once(' ')?.1.parse().ok()?;
            match (is_call, calls_c) {
                (false, _) => *parts.entry(home.clone()).or_default() += cost,
                (true, true) => *parts.entry(C_LIBRARY.to_owned()).or_default() += cost,
                (true, false) => {}
            }
            (is_call, calls_c) = (false, false);
        } else {
            (is_call, calls_c) = (false, false);
        }
    }
    Some(Profile { total: total?, parts })
}
