//! The result of a check, and the comparison that most checks are.

/// A difference, in words.
pub type Check = Result<(), String>;

/// Fails with both values when they differ.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: &T, should: &T) -> Check {
    match is == should {
        true => Ok(()),
        false => Err(format!("{what}: is {is:?}, should be {should:?}")),
    }
}
