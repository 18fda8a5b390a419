//! Reading the options of INIT and ALTER.

use super::args::{Args, Parsed};
use super::errors;
use super::terms::{Options, Read, READ};
use super::vocabulary::KeySpec;
use crate::server::module::spec::{KEY_CHANGE, KEY_INSERT, KEY_UPDATE};
use seckill_domain::admission::Sample;
use seckill_domain::draw::Draw;
use seckill_domain::limits::PERMILLE_ALL;
use seckill_domain::outcome::Misuse;
use seckill_domain::parts::Split;
use seckill_domain::request::Terms;
use seckill_domain::rounds::Schedule;
use seckill_domain::terms::TERMS;
use seckill_domain::waitlist::{WaitTerms, WaitTermsChange};

impl Options {
    /// Reads all options of INIT up to the end.
    pub fn of_init(args: &mut Args<'_>) -> Parsed<Options> {
        Options::parse(args, false)
    }

    /// Reads all options of ALTER up to the end.
    pub fn of_alter(args: &mut Args<'_>) -> Parsed<Options> {
        Options::parse(args, true)
    }

    fn parse(args: &mut Args<'_>, alters: bool) -> Parsed<Options> {
        let mut options = Options::default();
        options.read(args, alters)?;
        options.finish()?;
        Ok(options)
    }

    fn read(&mut self, args: &mut Args<'_>, alters: bool) -> Parsed<()> {
        let mut seen = [false; TERMS.len()];
        while let Some(name) = args.option() {
            let is_named = |option: &str| name.eq_ignore_ascii_case(option.as_bytes());
            let rows = TERMS.iter().zip(&READ).zip(&mut seen);
            let found = rows.into_iter().find(|((term, _), _)| is_named(term.option));
            let Some(((term, (_, read)), seen)) = found.filter(|(_, seen)| !**seen) else {
                return Err(args.stray());
            };
            if alters && !term.is_altered {
                return Err(errors::FIXED.into());
            }
            *seen = true;
            match read {
                Read::Number(row, slot) => *slot(self) = Some(args.number(row)?),
                Read::Switch(slot) => *slot(self) = Some(!args.accept("OFF")),
                Read::Other(read) => read(self, args)?,
            }
        }
        Ok(())
    }

    /// Combines options that belong together, and refuses terms that no sale can have. The sale
    /// checks whether they fit its other terms.
    fn finish(&mut self) -> Parsed<()> {
        match (&mut self.draw, self.min) {
            (Some(Draw::Packets { min, .. }), Some(stated)) => *min = stated,
            (_, Some(_)) => return Err(errors::MIN_NEEDS_PACKETS.into()),
            (_, None) => {}
        }
        self.change.admission.keeps_salt = self.salt.is_none();
        self.change.admission.sample = match (self.permille, self.salt.take()) {
            (None, None) => None,
            (None, Some(_)) => return Err(errors::SALT_NEEDS_SAMPLE.into()),
            (Some(PERMILLE_ALL), _) => Some(None),
            (Some(permille), salt) => {
                Some(Some(Box::new(Sample { permille, salt: salt.unwrap_or_default() })))
            }
        };
        self.schedule = match self.every {
            None if self.offset.or(self.lasts).is_some() || self.carry => {
                return Err(errors::NEEDS_EVERY.into());
            }
            None => None,
            Some(period_ms) => Some(Schedule {
                period_ms,
                offset_ms: self.offset.unwrap_or(0),
                lasts_ms: self.lasts.unwrap_or(period_ms),
                carry: self.carry,
            }),
        };
        self.split = match (self.part, self.parts, &self.split_id, self.total) {
            (None, None, None, None) => None,
            (Some(part), Some(parts), Some(id), Some(total)) => {
                Some(Split::new(part, parts, id, total).map_err(Misuse::text)?)
            }
            _ => return Err(errors::PART_INCOMPLETE.into()),
        };
        let WaitTermsChange { max, offer_ms, overtake } = self.change.waitlist;
        if max.is_none() && offer_ms.or(overtake).is_some() {
            return Err(errors::NEEDS_WAITLIST.into());
        }
        // HOLD and OFFER may be set in the sale already.
        let waitlist = Some(WaitTerms { max: 0, offer_ms: 1, overtake: 0 });
        let usual = Terms { hold_ms: 1, waitlist, ..Terms::default() };
        Ok(usual.altered(&self.change).check().map_err(Misuse::text)?)
    }
}

/// The key of a command that creates a sale.
pub const CREATES: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_INSERT), outbox_from(3)];
/// The keys of ALTER: the sale, and the outbox, if given.
pub const ALTERS: &[KeySpec] = &[KeySpec::at(1, KEY_CHANGE | KEY_UPDATE), outbox_from(2)];

/// The outbox, among options that begin at `pos`.
const fn outbox_from(pos: i32) -> KeySpec {
    KeySpec { option: Some("OUTBOX"), ..KeySpec::at(pos, KEY_CHANGE | KEY_INSERT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers take the argument after the first OUTBOX for the stream.
    #[test]
    fn no_operand_is_the_word_outbox() {
        for call in [
            "SAMPLE 5 SALT OUTBOX OUTBOX s",
            "SALT outbox",
            "SPLIT OUTBOX PART 0 OF 1",
            "SALT OUTBOX\0 OUTBOX s",
        ] {
            assert_eq!(parsed(call).map(drop), Err(errors::RESERVED.into()), "{call}");
        }
        for call in ["OUTBOX OUTBOX", "SAMPLE 5 SALT OUTBOX1", "OUTBOX s SAMPLE 5 SALT a"] {
            assert!(parsed(call).is_ok(), "{call}");
        }
    }

    fn parsed(call: &str) -> Parsed<Options> {
        let args: Vec<&[u8]> = call.split(' ').map(str::as_bytes).collect();
        Options::of_init(&mut Args::of(&args))
    }

    #[test]
    fn options_that_exclude_each_other_are_refused() {
        for (call, error) in [
            ("MIN 2", errors::MIN_NEEDS_PACKETS),
            ("DRAW EQUAL 2 MIN 1", errors::MIN_NEEDS_PACKETS),
            ("DRAW UNIFORM 1", errors::UNIFORM_NEEDS_TWO),
            ("DRAW UNIFORM 1 x", errors::UNIFORM_NEEDS_TWO),
            ("SALT s", errors::SALT_NEEDS_SAMPLE),
            ("CARRY", errors::NEEDS_EVERY),
            ("OVERTAKE 1", errors::NEEDS_WAITLIST),
            ("SPLIT s", errors::PART_INCOMPLETE),
            ("PART 0 OF 1", errors::PART_INCOMPLETE),
            ("TOTAL 1 SPLIT s", errors::PART_INCOMPLETE),
            ("PART 0 SPLIT s TOTAL 1", errors::PART_INCOMPLETE),
        ] {
            assert_eq!(parsed(call).err(), Some(errors::Error::Text(error)), "{call}");
        }
    }

    #[test]
    fn a_stray_argument_is_named_by_its_position() {
        for (call, at) in [
            ("OFF", 1),
            ("DRAW", 1),
            ("DRAW NONE 1", 2),
            ("LIMIT 1 limit 1", 3),
            ("LIMIT 1 HOLD", 3),
            ("MOD 2 0 1 x", 5),
            ("PART 0 1 SPLIT s TOTAL 1", 3),
            ("PART 0 OF 1 OF 1", 5),
        ] {
            assert_eq!(parsed(call).err(), Some(errors::Error::Stray(at)), "{call}");
        }
    }

    #[test]
    fn a_wrong_number_has_the_error_of_its_row() {
        for (call, error) in [
            ("DRAW PACKETS x", "ERR PACKETS must be 1 to 4294967295"),
            ("MOD x", "ERR MOD must be 0 to 9007199254740991"),
            ("ADMIT -1", "ERR ADMIT must be 0 to 9007199254740991"),
            ("HOLD 2592000001", "ERR HOLD must be 0 to 2592000000 milliseconds"),
            ("OPENAT 1", "ERR OPENAT must be 0 or 100000000000 to 140737488355327"),
        ] {
            assert_eq!(parsed(call).err(), Some(errors::Error::Text(error)), "{call}");
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
