//! The units that a GRAB asks for, and the units that a grant keeps.

use redis::Cmd;

/// How many units a GRAB asks for. The server judges the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units<'a> {
    /// One unit; a sale that draws amounts takes nothing else.
    One,
    /// This number of units, or none.
    Qty(i64),
    /// At most this many.
    UpTo(i64),
    /// This number of units that are next to each other, in a sale with NUMBERED.
    Adjacent(i64),
    /// The units with these numbers, in a sale with NUMBERED.
    Exactly(&'a [i64]),
}

/// The part of a grant that is kept when the rest is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep<'a> {
    /// This number of units.
    Qty(i64),
    /// The units with these numbers, in a sale with NUMBERED.
    Units(&'a [i64]),
}

impl Keep<'_> {
    pub(crate) fn ask(self, command: &mut Cmd) {
        match self {
            Keep::Qty(qty) => command.arg("KEEP").arg(qty),
            Keep::Units(units) => command.arg("KEEP").arg("UNITS").arg(units),
        };
    }
}

impl Units<'_> {
    pub(crate) fn ask(self, command: &mut Cmd) {
        match self {
            // One is what GRAB takes by itself, and a sale that draws amounts takes no other word.
            Units::One | Units::Qty(1) => command,
            Units::Qty(qty) => command.arg("QTY").arg(qty),
            Units::UpTo(most) => command.arg("UPTO").arg(most),
            Units::Adjacent(qty) => command.arg("QTY").arg(qty).arg("ADJACENT"),
            Units::Exactly(units) => command.arg("UNITS").arg(units),
        };
    }
}
