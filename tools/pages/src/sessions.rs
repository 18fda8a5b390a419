//! A redis-cli session for each command. The server tests replay them in the order of the page.

use seckill::command::vocabulary::Spec;

/// Blocks separated by empty lines: the command's name, then the redis-cli session.
const SESSIONS: &str = include_str!("sessions.txt");

/// The session that shows this command with its reply.
pub fn of(spec: &Spec) -> Option<&'static str> {
    let blocks = SESSIONS.trim_end().split("\n\n");
    blocks
        .filter_map(|block| block.split_once('\n'))
        .find_map(|(name, session)| (name == spec.name).then_some(session))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seckill::command::table::TABLE;

    /// Commands without a session: HELP would repeat the page, and only the server calls APPLY.
    const WITHOUT: [&str; 2] = ["SECKILL.HELP", "SECKILL.APPLY"];

    #[test]
    fn every_command_is_shown_with_its_answer() {
        for spec in &TABLE {
            let shows = of(spec).is_some_and(|session| session.contains(spec.example));
            assert_eq!(shows, !WITHOUT.contains(&spec.name), "{}", spec.name);
        }
    }
}
