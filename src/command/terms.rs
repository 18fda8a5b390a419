//! The options of INIT and ALTER: everything that an operator can set.

use super::args::{is, Parsed, Words};
use super::errors;
use super::table;
use crate::server::module::register::{Arg, ArgKind};
use seckill_domain::admission::{AdmissionChange, Modulo, Sample};
use seckill_domain::draw::Draw;
use seckill_domain::limits::{INTEGER_MAX, PERMILLE_ALL};
use seckill_domain::schedule::Schedule;
use seckill_domain::terms::{Terms, TermsChange};

/// Terms of admission, for the table.
const ADMISSION: [Arg; 5] = [
    Arg::block("allowlist", &[Arg::pure("on", "ALLOWLIST"), Arg::pure("off", "OFF").optional()])
        .optional(),
    Arg::block(
        "mod",
        &[
            Arg::new("modulus", ArgKind::Integer).shown("m").token("MOD"),
            Arg::new("remainder", ArgKind::Integer).shown("r").multiple().optional(),
        ],
    )
    .optional(),
    Arg::block(
        "sample",
        &[
            Arg::new("permille", ArgKind::Integer).token("SAMPLE"),
            Arg::new("salt", ArgKind::Str).shown("s").token("SALT").optional(),
        ],
    )
    .optional(),
    Arg::new("admit", ArgKind::Integer).shown("n").token("ADMIT").optional(),
    Arg::block("mask", &[Arg::pure("on", "MASK"), Arg::pure("off", "OFF").optional()]).optional(),
];

/// How amounts are drawn, for the table.
pub const DRAW: Arg = Arg::one_of(
    "draw",
    &[
        Arg::block(
            "packets",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("PACKETS"),
                Arg::new("min", ArgKind::Integer).shown("m").token("MIN").optional(),
            ],
        ),
        Arg::block(
            "uniform",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "UNIFORM"),
                Arg::new("lo", ArgKind::Integer),
                Arg::new("hi", ArgKind::Integer),
            ],
        ),
        Arg::block(
            "equal",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::new("packets", ArgKind::Integer).shown("n").token("EQUAL"),
            ],
        ),
        Arg::block(
            "list",
            &[
                Arg::pure("draw", "DRAW"),
                Arg::pure("mode", "LIST"),
                Arg::new("amount", ArgKind::Integer).multiple(),
            ],
        ),
    ],
)
.optional();

/// How a sale repeats, for the table.
pub const ROUNDS: Arg = Arg::block(
    "rounds",
    &[
        Arg::new("every", ArgKind::Integer).shown("period").token("EVERY"),
        Arg::new("offset", ArgKind::Integer).shown("ms").token("OFFSET").optional(),
        Arg::new("lasts", ArgKind::Integer).shown("ms").token("LASTS").optional(),
        Arg::pure("carry", "CARRY").optional(),
    ],
)
.optional();

/// The arguments of INIT behind the supply, and of ALTER behind the key.
pub const INIT_ARGS: &[Arg] = &[
    table::KEY,
    Arg::new("supply", ArgKind::Integer),
    table::LIMIT,
    table::GRABS,
    table::HOLD,
    table::OPENAT,
    table::CLOSEAT,
    table::OUTBOX,
    DRAW,
    ROUNDS,
    ADMISSION[0],
    ADMISSION[1],
    ADMISSION[2],
    ADMISSION[3],
    ADMISSION[4],
];

/// The same without what can't be altered.
pub const ALTER_ARGS: &[Arg] = &[
    table::KEY,
    table::LIMIT,
    table::GRABS,
    table::HOLD,
    table::OPENAT,
    table::CLOSEAT,
    table::OUTBOX,
    ADMISSION[0],
    ADMISSION[1],
    ADMISSION[2],
    ADMISSION[3],
    ADMISSION[4],
];

/// What the options said.
#[derive(Debug, Default)]
pub struct Options {
    pub change: TermsChange,
    pub draw: Option<Draw>,
    /// The amounts of DRAW LIST.
    pub amounts: Vec<u64>,
    pub schedule: Option<Schedule>,
    min: Option<u64>,
    every: Option<u64>,
    offset: Option<u64>,
    lasts: Option<u64>,
    carry: Option<()>,
    permille: Option<u64>,
    salt: Option<Box<[u8]>>,
    /// How many arguments were left when the outbox's name was read.
    left_at_outbox: Option<usize>,
}

impl Options {
    /// Reads all options up to the end.
    pub fn parse(words: &mut Words<'_>) -> Parsed<Options> {
        let mut options = Options::default();
        options.read(words)?;
        options.finish()?;
        Ok(options)
    }

    fn read(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        while let Some(name) = words.option() {
            if !self.read_number(name, words)?
                && !self.read_moment(name, words)?
                && !self.read_admission(name, words)?
            {
                self.read_other(name, words)?;
            }
        }
        Ok(())
    }

    /// A term that is one number. False when the option is another one.
    fn read_number(&mut self, name: &[u8], words: &mut Words<'_>) -> Parsed<bool> {
        let change = &mut self.change;
        let slots = [
            ("LIMIT", &mut change.limit),
            ("GRABS", &mut change.grabs),
            ("HOLD", &mut change.hold_ms),
            ("ADMIT", &mut change.admission.admit),
            ("MIN", &mut self.min),
            ("EVERY", &mut self.every),
            ("OFFSET", &mut self.offset),
            ("LASTS", &mut self.lasts),
        ];
        match slots.into_iter().find(|(option, _)| is(name, option)) {
            Some((_, slot)) => words.once(slot, Words::integer).map(|()| true),
            None => Ok(false),
        }
    }

    /// A term that is one moment. False when the option is another one.
    fn read_moment(&mut self, name: &[u8], words: &mut Words<'_>) -> Parsed<bool> {
        let TermsChange { open_at, close_at, .. } = &mut self.change;
        let slots = [("OPENAT", open_at), ("CLOSEAT", close_at)];
        let Some((_, slot)) = slots.into_iter().find(|(option, _)| is(name, option)) else {
            return Ok(false);
        };
        words.once(slot, |words| words.moment(INTEGER_MAX, errors::WINDOW_IN_SECONDS))?;
        Ok(true)
    }

    fn read_admission(&mut self, name: &[u8], words: &mut Words<'_>) -> Parsed<bool> {
        let AdmissionChange { allowlist, modulo, mask, .. } = &mut self.change.admission;
        if is(name, "ALLOWLIST") {
            words.once(allowlist, |words| Ok(!words.takes("OFF")))?;
        } else if is(name, "MASK") {
            words.once(mask, |words| Ok(!words.takes("OFF")))?;
        } else if is(name, "MOD") {
            words.once(modulo, read_modulo)?;
        } else if is(name, "SAMPLE") {
            words.once(&mut self.permille, Words::integer)?;
        } else if is(name, "SALT") {
            words.once(&mut self.salt, |words| words.bytes().map(Into::into))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn read_other(&mut self, name: &[u8], words: &mut Words<'_>) -> Parsed<()> {
        if is(name, "OUTBOX") {
            self.left_at_outbox.get_or_insert(words.left());
            words.once(&mut self.change.outbox, Words::outbox)
        } else if is(name, "CARRY") {
            words.once(&mut self.carry, |_| Ok(()))
        } else if is(name, "DRAW") {
            let amounts = &mut self.amounts;
            words.once(&mut self.draw, |words| read_draw(words, amounts))
        } else {
            Err(errors::SYNTAX)
        }
    }

    /// Puts together what belongs together, and refuses terms that no sale could have. Whether
    /// they go with those that a sale has is for the sale to say.
    fn finish(&mut self) -> Parsed<()> {
        match (&mut self.draw, self.min) {
            (Some(Draw::Packets { min, .. }), Some(told)) => *min = told,
            (_, Some(_)) => return Err(errors::SYNTAX),
            (_, None) => {}
        }
        self.change.admission.sample = match (self.permille, self.salt.take()) {
            (None, None) => None,
            (None, Some(_)) => return Err(errors::SYNTAX),
            (Some(PERMILLE_ALL), _) => Some(None),
            (Some(permille), salt) => {
                Some(Some(Box::new(Sample { permille, salt: salt.unwrap_or_default() })))
            }
        };
        self.schedule = match self.every {
            None if self.offset.or(self.lasts).is_some() || self.carry.is_some() => {
                return Err(errors::SYNTAX);
            }
            None => None,
            Some(period_ms) => Some(Schedule {
                period_ms,
                offset_ms: self.offset.unwrap_or(0),
                lasts_ms: self.lasts.unwrap_or(period_ms),
                carry: self.carry.is_some(),
            }),
        };
        Terms::default().altered(&self.change).check().map_err(errors::misuse)
    }
}

/// `m r [r ...]`; m 0 alone switches off.
fn read_modulo(words: &mut Words<'_>) -> Parsed<Option<Box<Modulo>>> {
    let modulus = words.integer()?;
    let mut residues = Vec::new();
    while let Some(residue) = words.further_integer()? {
        residues.push(residue);
    }
    if modulus == 0 && residues.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(Modulo::new(modulus, residues))))
}

/// `PACKETS n`, `UNIFORM lo hi`, `EQUAL n` or `LIST a1 a2 ...`; MIN is an option of its own.
fn read_draw(words: &mut Words<'_>, amounts: &mut Vec<u64>) -> Parsed<Draw> {
    let mode = words.bytes()?;
    if is(mode, "PACKETS") {
        Ok(Draw::Packets { packets: words.integer()?, min: 1 })
    } else if is(mode, "UNIFORM") {
        Ok(Draw::Uniform { low: words.integer()?, high: words.integer()? })
    } else if is(mode, "EQUAL") {
        Ok(Draw::Equal { packets: words.integer()? })
    } else if is(mode, "LIST") {
        amounts.push(words.integer()?);
        while let Some(amount) = words.further_integer()? {
            amounts.push(amount);
        }
        Ok(Draw::list(amounts))
    } else {
        Err(errors::SYNTAX)
    }
}

/// Where the outbox of INIT or ALTER is among the arguments, whose options begin at `first`. The
/// options are read as the command reads them, so that an operand that happens to be the word
/// does not mislead.
pub fn outbox_place(args: &[&[u8]], first: usize) -> Option<usize> {
    let mut words = Words::of(args.get(first..)?);
    let mut options = Options::default();
    // What is wrong further on does not move the key that was found.
    let _ = options.read(&mut words);
    args.len().checked_sub(options.left_at_outbox.filter(|left| *left > 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(call: &str) -> Option<usize> {
        let args: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
        outbox_place(&args, 2)
    }

    #[test]
    fn only_the_option_itself_is_the_outbox() {
        assert_eq!(place("k 1 OUTBOX s"), Some(3));
        assert_eq!(place("k 1 LIMIT 2 outbox s HOLD 5"), Some(5));
        assert_eq!(place("k 1 SAMPLE 5 SALT OUTBOX OUTBOX s"), Some(7));
        assert_eq!(place("k 1 SAMPLE 5 SALT OUTBOX"), None);
        assert_eq!(place("k 1 MOD 3 0 1 MASK OUTBOX s"), Some(8));
        assert_eq!(place("k 6 DRAW LIST 1 2 3 OUTBOX OUTBOX"), Some(8));
        assert_eq!(place("k 1 OUTBOX"), None);
        assert_eq!(place("k 1 LIMIT OUTBOX s"), None);
        assert_eq!(place("k 1"), None);
    }

    fn parsed(call: &str) -> Parsed<Options> {
        let args: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
        Options::parse(&mut Words::of(&args))
    }

    #[test]
    fn sub_options_need_their_option() {
        for call in ["MIN 2", "DRAW EQUAL 2 MIN 1", "SALT s", "OFF", "DRAW", "DRAW NONE 1"] {
            assert_eq!(parsed(call).err(), Some(errors::SYNTAX), "{call}");
        }
        for call in ["DRAW PACKETS x", "DRAW UNIFORM 1", "DRAW UNIFORM 1 x", "MOD x", "ADMIT -1"] {
            assert!(parsed(call).is_err(), "{call}");
        }
    }

    #[test]
    fn switches_go_off() {
        let options = parsed("ALLOWLIST OFF MOD 0 SAMPLE 1000 ADMIT 0 MASK OFF").unwrap();
        let terms = Terms::default().altered(&options.change);
        assert!(terms.admission.is_open());
        assert_eq!(options.change.admission.allowlist, Some(false));
        assert_eq!(options.change.admission.modulo, Some(None));
        assert_eq!(options.change.admission.sample, Some(None));
    }

    #[test]
    fn min_is_found_on_either_side() {
        for call in ["DRAW PACKETS 3 MIN 2", "MIN 2 DRAW PACKETS 3"] {
            assert_eq!(parsed(call).unwrap().draw, Some(Draw::Packets { packets: 3, min: 2 }));
        }
    }
}
