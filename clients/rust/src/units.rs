//! The units of a GRAB, and the units that KEEP leaves.

use redis::Cmd;

/// The quantity or the numbers of a GRAB. The server checks the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units<'a> {
    /// One unit; a sale that draws amounts accepts nothing else.
    One,
    /// Exactly this number of units.
    Qty(i64),
    /// At most this many units.
    UpTo(i64),
    /// This many units with consecutive numbers, in a sale with NUMBERED.
    Adjacent(i64),
    /// The units with these numbers, in a sale with NUMBERED.
    Exactly(&'a [i64]),
}

/// The part of a grant that the user keeps; the other units are returned.
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
            // The default of GRAB is one unit; a sale that draws amounts accepts no QTY.
            Units::One | Units::Qty(1) => command,
            Units::Qty(qty) => command.arg("QTY").arg(qty),
            Units::UpTo(most) => command.arg("UPTO").arg(most),
            Units::Adjacent(qty) => command.arg("QTY").arg(qty).arg("ADJACENT"),
            Units::Exactly(units) => command.arg("UNITS").arg(units),
        };
    }
}
