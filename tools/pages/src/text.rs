//! Parts of generated texts.

/// A text with its places filled: `{{name}}` becomes the part of that name.
pub fn fill(text: &str, parts: &[(&str, String)]) -> String {
    let one = |text: String, (name, part): &(&str, String)| {
        text.replace(&format!("{{{{{name}}}}}"), part)
    };
    parts.iter().fold(text.to_owned(), one)
}

/// What `shown` makes of each of them, with `between` in between.
pub fn each<T>(
    all: impl IntoIterator<Item = T>,
    between: &str,
    shown: impl Fn(T) -> String,
) -> String {
    all.into_iter().map(shown).collect::<Vec<_>>().join(between)
}

/// The words in quotes, as a list on one line.
pub fn quoted(words: impl IntoIterator<Item: AsRef<str>>, quote: &str) -> String {
    each(words, ", ", |word| format!("{quote}{}{quote}", word.as_ref()))
}

/// The words in quotes, each with a comma on a line of its own.
pub fn lines(words: impl IntoIterator<Item: AsRef<str>>, quote: &str, indent: &str) -> String {
    each(words, "\n", |word| format!("{indent}{quote}{}{quote},", word.as_ref()))
}
