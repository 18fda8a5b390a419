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

/// SOLDOUT 0 must be true if nothing was lost or returned. The only exception is a unit that was
/// returned since the pass began.
fn all_sold(_: &Config, state: &State) -> bool {
    let here: u8 = state.parts.iter().flatten().map(|part| part.available).sum();
    let left = here + state.under_way() > 0;
    let mut parts = state.parts.iter().flatten();
    let is_true =
        parts.all(|part| !part.says_all_sold() || !left || state.returns > part.sold_began);
    is_true || state.lossy
}
