//! Reading the options of INIT and ALTER.

use super::args::{Args, Parsed};
use super::errors;
use seckill_domain::admission::{AdmissionChange, Modulo, Sample};
use seckill_domain::draw::Draw;
use seckill_domain::limits::{INTEGER_MAX, PERMILLE_ALL};
use seckill_domain::parts::Split;
use seckill_domain::request::{Terms, TermsChange};
use seckill_domain::rounds::Schedule;
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};

/// What the options said.
#[derive(Debug, Default)]
pub struct Options {
    /// The terms that were named; those that were not stay as they are.
    pub change: TermsChange,
    /// DRAW with its mode, MIN included.
    pub draw: Option<Draw>,
    /// The amounts of DRAW LIST.
    pub amounts: Vec<u64>,
    /// EVERY with OFFSET, LASTS and CARRY.
    pub schedule: Option<Schedule>,
    /// PART with OF, SPLIT and TOTAL.
    pub split: Option<Split>,
    /// PART and OF.
    part: Option<(u64, u64)>,
    split_id: Option<Box<[u8]>>,
    total: Option<u64>,
    min: Option<u64>,
    every: Option<u64>,
    offset: Option<u64>,
    lasts: Option<u64>,
    carry: bool,
    permille: Option<u64>,
    salt: Option<Box<[u8]>>,
    /// How many arguments were left when the outbox's name was read.
    left_at_outbox: Option<usize>,
}

impl Options {
    /// Reads all options up to the end.
    pub fn parse(args: &mut Args<'_>) -> Parsed<Options> {
        let mut options = Options::default();
        options.read(args)?;
        options.finish()?;
        Ok(options)
    }

    fn read(&mut self, args: &mut Args<'_>) -> Parsed<()> {
        let moment = |args: &mut Args<'_>| args.moment(INTEGER_MAX, errors::WINDOW_IN_SECONDS);
        while let Some(name) = args.option() {
            let change = &mut self.change;
            let AdmissionChange { allowlist, modulo, mask, .. } = &mut change.admission;
            if name.eq_ignore_ascii_case(b"ALLOWLIST") && allowlist.is_none() {
                *allowlist = Some(!args.accept("OFF"));
            } else if name.eq_ignore_ascii_case(b"MASK") && mask.is_none() {
                *mask = Some(!args.accept("OFF"));
            } else if name.eq_ignore_ascii_case(b"MOD") && modulo.is_none() {
                *modulo = Some(read_modulo(args)?);
            } else if name.eq_ignore_ascii_case(b"SALT") && self.salt.is_none() {
                self.salt = Some(args.bytes()?.into());
            } else if name.eq_ignore_ascii_case(b"OPENAT") && change.open_at.is_none() {
                change.open_at = Some(moment(args)?);
            } else if name.eq_ignore_ascii_case(b"CLOSEAT") && change.close_at.is_none() {
                change.close_at = Some(moment(args)?);
            } else if name.eq_ignore_ascii_case(b"OUTBOX") && change.outbox.is_none() {
                self.left_at_outbox = Some(args.remaining());
                change.outbox = Some(args.outbox()?);
            } else if name.eq_ignore_ascii_case(b"CARRY") && !self.carry {
                self.carry = true;
            } else if name.eq_ignore_ascii_case(b"DRAW") && self.draw.is_none() {
                self.draw = Some(read_draw(args, &mut self.amounts)?);
            } else if name.eq_ignore_ascii_case(b"PART") && self.part.is_none() {
                self.part = Some(read_part(args)?);
            } else if name.eq_ignore_ascii_case(b"SPLIT") && self.split_id.is_none() {
                self.split_id = Some(args.split()?.into());
            } else {
                self.read_number(name, args)?;
            }
        }
        Ok(())
    }

    /// A term that is one number: no other option is left.
    fn read_number(&mut self, name: &[u8], args: &mut Args<'_>) -> Parsed<()> {
        let change = &mut self.change;
        let slots = [
            ("LIMIT", &mut change.limit),
            ("GRABS", &mut change.grabs),
            ("HOLD", &mut change.hold_ms),
            ("ADMIT", &mut change.admission.admit),
            ("SAMPLE", &mut self.permille),
            ("MIN", &mut self.min),
            ("EVERY", &mut self.every),
            ("OFFSET", &mut self.offset),
            ("LASTS", &mut self.lasts),
            ("TOTAL", &mut self.total),
            ("WAITLIST", &mut change.waitlist.max),
            ("OFFER", &mut change.waitlist.offer_ms),
            ("OVERTAKE", &mut change.waitlist.overtake),
        ];
        let slot =
            slots.into_iter().find(|(option, _)| name.eq_ignore_ascii_case(option.as_bytes()));
        let (_, slot) = slot.filter(|(_, slot)| slot.is_none()).ok_or(errors::SYNTAX)?;
        *slot = Some(args.integer()?);
        Ok(())
    }

    /// Puts together what belongs together, and refuses terms that no sale could have. Whether
    /// they go with those that a sale has is for the sale to say.
    fn finish(&mut self) -> Parsed<()> {
        match (&mut self.draw, self.min) {
            (Some(Draw::Packets { min, .. }), Some(stated)) => *min = stated,
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
            None if self.offset.or(self.lasts).is_some() || self.carry => {
                return Err(errors::SYNTAX);
            }
            None => None,
            Some(period_ms) => Some(Schedule {
                period_ms,
                offset_ms: self.offset.unwrap_or(0),
                lasts_ms: self.lasts.unwrap_or(period_ms),
                carry: self.carry,
            }),
        };
        self.split = match (self.part, &self.split_id, self.total) {
            (None, None, None) => None,
            (Some((part, parts)), Some(id), Some(total)) => {
                Some(Split::new(part, parts, id, total).map_err(errors::misuse)?)
            }
            _ => return Err(errors::SYNTAX),
        };
        let WaitTermsChange { max, offer_ms, overtake } = self.change.waitlist;
        if max.is_none() && offer_ms.or(overtake).is_some() {
            return Err(errors::SYNTAX);
        }
        // HOLD and OFFER may be those that the sale has.
        let waitlist = Some(WaitTerms { max: 0, offer_ms: 1, overtake: 0 });
        let usual = Terms { hold_ms: 1, waitlist, ..Terms::default() };
        usual.altered(&self.change).check().map_err(errors::misuse)
    }
}

/// `m r [r ...]`; m 0 alone switches off.
fn read_modulo(args: &mut Args<'_>) -> Parsed<Option<Box<Modulo>>> {
    let modulus = args.integer()?;
    let mut residues = Vec::new();
    while let Some(residue) = args.optional_integer()? {
        residues.push(residue);
    }
    if modulus == 0 && residues.is_empty() {
        return Ok(None);
    }
    Ok(Some(Box::new(Modulo::new(modulus, residues))))
}

/// `PACKETS n`, `UNIFORM lo hi`, `EQUAL n` or `LIST a1 a2 ...`; MIN is an option of its own.
fn read_draw(args: &mut Args<'_>, amounts: &mut Vec<u64>) -> Parsed<Draw> {
    let mode = args.bytes()?;
    if mode.eq_ignore_ascii_case(b"PACKETS") {
        Ok(Draw::Packets { packets: args.integer()?, min: 1 })
    } else if mode.eq_ignore_ascii_case(b"UNIFORM") {
        Ok(Draw::Uniform { low: args.integer()?, high: args.integer()? })
    } else if mode.eq_ignore_ascii_case(b"EQUAL") {
        Ok(Draw::Equal { packets: args.integer()? })
    } else if mode.eq_ignore_ascii_case(b"LIST") {
        amounts.push(args.integer()?);
        while let Some(amount) = args.optional_integer()? {
            amounts.push(amount);
        }
        Ok(Draw::list(amounts))
    } else {
        Err(errors::SYNTAX)
    }
}

/// `i OF B`.
fn read_part(args: &mut Args<'_>) -> Parsed<(u64, u64)> {
    let part = args.integer()?;
    match args.accept("OF") {
        true => Ok((part, args.integer()?)),
        false => Err(errors::SYNTAX),
    }
}

/// Where the outbox of INIT or ALTER is among the arguments, whose options begin at `first`. The
/// options are read as the command reads them, so that an operand that happens to be the word
/// does not mislead.
pub fn outbox_index(args: &[&[u8]], first: usize) -> Option<usize> {
    let mut rest = Args::of(args.get(first..)?);
    let mut options = Options::default();
    // What is wrong later on does not move the key that was found.
    let _ = options.read(&mut rest);
    args.len().checked_sub(options.left_at_outbox.filter(|left| *left > 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox_at(call: &str) -> Option<usize> {
        let args: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
        outbox_index(&args, 2)
    }

    #[test]
    fn only_the_option_itself_is_the_outbox() {
        assert_eq!(outbox_at("k 1 OUTBOX s"), Some(3));
        assert_eq!(outbox_at("k 1 LIMIT 2 outbox s HOLD 5"), Some(5));
        assert_eq!(outbox_at("k 1 SAMPLE 5 SALT OUTBOX OUTBOX s"), Some(7));
        assert_eq!(outbox_at("k 1 SAMPLE 5 SALT OUTBOX"), None);
        assert_eq!(outbox_at("k 1 MOD 3 0 1 MASK OUTBOX s"), Some(8));
        assert_eq!(outbox_at("k 6 DRAW LIST 1 2 3 OUTBOX OUTBOX"), Some(8));
        assert_eq!(outbox_at("k 1 SPLIT OUTBOX PART 0 OF 1 OUTBOX s TOTAL 1"), Some(9));
        assert_eq!(outbox_at("k 1 SPLIT OUTBOX PART 0 OF 1 TOTAL 1"), None);
        assert_eq!(outbox_at("k 1 OUTBOX"), None);
        assert_eq!(outbox_at("k 1 LIMIT OUTBOX s"), None);
        assert_eq!(outbox_at("k 1"), None);
    }

    fn parsed(call: &str) -> Parsed<Options> {
        let args: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
        Options::parse(&mut Args::of(&args))
    }

    #[test]
    fn sub_options_need_their_option() {
        for call in
            ["MIN 2", "DRAW EQUAL 2 MIN 1", "SALT s", "OFF", "DRAW", "DRAW NONE 1", "SPLIT s"]
        {
            assert_eq!(parsed(call).err(), Some(errors::SYNTAX), "{call}");
        }
        for call in
            ["PART 0 OF 1", "PART 0 1 SPLIT s TOTAL 1", "TOTAL 1 SPLIT s", "PART 0 OF 1 OF 1"]
        {
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
