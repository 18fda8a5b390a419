//! The names of the tables: a prefix, and a schema if one is given.

/// The prefix of the tables' names.
#[derive(Clone, Debug)]
pub struct Names {
    pub schema: Option<String>,
    pub prefix: String,
}

impl Names {
    /// Fills names into a statement. `@` becomes schema and prefix of a table; `#` becomes the
    /// prefix alone, for indexes, which can't name a schema. Statements have neither character for
    /// anything else, and no text that users chose. `quote` is the character around a name.
    pub fn fill(&self, statement: &str, quote: char) -> String {
        let before = match &self.schema {
            Some(schema) => format!("{quote}{schema}{quote}.{}", self.prefix),
            None => self.prefix.clone(),
        };
        statement.replace('@', &before).replace('#', &self.prefix)
    }
}

/// # Errors
/// An error message if the prefix can't be used without quotes.
pub fn prefix(word: &str) -> Result<String, String> {
    let is_one = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = !word.starts_with(|c: char| c.is_ascii_digit());
    match word.len() <= LENGTH && word.chars().all(is_one) && begins_well {
        true => Ok(word.to_owned()),
        false => Err(format!("at most {LENGTH} of a to z, 0 to 9 and _, no digit first")),
    }
}

/// # Errors
/// An error message if the schema can't be written between quotes.
pub fn schema(word: &str) -> Result<String, String> {
    let is_one = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '$';
    match !word.is_empty() && word.len() <= LENGTH && word.chars().all(is_one) {
        true => Ok(word.to_owned()),
        false => Err(format!("1 to {LENGTH} letters, digits, _, - and $")),
    }
}

/// Databases take names of 63 or 64 letters.
const LENGTH: usize = 32;

#[cfg(test)]
mod tests {
    use super::{prefix, schema, Names};

    #[test]
    fn names_stand_where_tables_and_indexes_are_named() {
        let mut names = Names { schema: None, prefix: "p_".into() };
        assert_eq!(names.fill("INDEX #a ON @a", '"'), "INDEX p_a ON p_a");
        names.schema = Some("Shop".into());
        assert_eq!(names.fill("INDEX #a ON @a", '"'), "INDEX p_a ON \"Shop\".p_a");
        assert_eq!(names.fill("SELECT @a", '`'), "SELECT `Shop`.p_a");
    }

    #[test]
    fn nothing_else_gets_into_a_statement() {
        assert!(prefix("").is_ok() && prefix("seckill_").is_ok() && schema("My-shop").is_ok());
        for word in ["A", "1a", "a b", "a;", "a\"", "a.", &"a".repeat(33)] {
            assert!(prefix(word).is_err(), "{word}");
        }
        for word in ["", "a b", "a;", "a\"", "a`", "a'", "a.b", &"a".repeat(33)] {
            assert!(schema(word).is_err(), "{word}");
        }
    }
}
