//! Laws of every state.

use stateright::{Model, Property};

use super::action::{self, Action};
use super::state::State;
use super::{act, settled, Config};

pub const OF_A_PART: &str = "supply = available + sold, and it follows from the totals";
pub const NOT_TWICE: &str = "no part received what its peer did not send";
pub const NOT_OVERSOLD: &str = "no more is sold than was put in and made twice";
pub const ALL_SOLD: &str = "nobody hears that all is sold while a unit is left";
pub const NO_OLD_PASS: &str = "no pass that ended before a unit came back undoes a later one";
pub const SETTLES: &str = "once it is quiet nothing is lost, made or untold";

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::first(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        action::actions(self, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(act::act(self, state, action)).filter(|next| next != state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        let mut laws = vec![
            Property::always(OF_A_PART, |_, state: &State| {
                state.parts.iter().flatten().all(|part| part.is_lawful())
            }),
            Property::always(NOT_OVERSOLD, |config: &Config, state| {
                state.sold() <= config.total + state.made_twice
            }),
            Property::always(ALL_SOLD, all_sold),
            Property::always(NO_OLD_PASS, |_, state: &State| {
                let mut parts = state.parts.iter().flatten();
                let is_sound = parts.all(|p| p.elsewhere > 0 || p.sold_ended >= p.raised_as_of);
                is_sound || state.lossy
            }),
            Property::always(SETTLES, settled::settles),
        ];
        if self.is_strict() {
            let law = |_: &Config, state: &State| state.losses > 0 || state.twice_now() == 0;
            laws.push(Property::always(NOT_TWICE, law));
        }
        laws
    }
}

/// SOLDOUT 0 must be true. The only exception is a unit that came back since the pass began, by a
/// return or a loss: it excuses a part until a later pass has told it.
fn all_sold(_: &Config, state: &State) -> bool {
    let here: u8 = state.parts.iter().flatten().map(|part| part.available).sum();
    let left = here + state.under_way() > 0;
    let mut parts = state.parts.iter().flatten();
    parts.all(|part| !part.says_all_sold() || !left || state.came_back() > part.sold_began)
}

#[cfg(test)]
mod tests {
    use super::super::{part::Part, QUIET};
    use super::*;

    #[test]
    fn a_loss_excuses_no_later_pass() {
        let config = QUIET;
        let mut state = State::first(&config);
        let mut is_lawful = |failovers, sold_began| {
            state.parts[0] = Some(Part { sold_began, ..Part::default() });
            state.failovers = failovers;
            all_sold(&config, &state)
        };
        assert!(!is_lawful(0, 0), "part 1 has a unit");
        assert!(is_lawful(1, 0), "the pass began before the failover");
        assert!(!is_lawful(1, 1), "the pass began after it");
    }
}
