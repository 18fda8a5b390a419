//! Errors of callers that only the sale's state reveals, each with its text. Errors that parsing
//! finds are in src/command/errors.rs.

macro_rules! misuses {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// A mistake of the caller that the sale finds; nothing changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Misuse {
            $($(#[$doc])* $name,)*
        }

        impl Misuse {
            /// All mistakes.
            pub const ALL: &'static [Misuse] = &[$(Misuse::$name,)*];

            /// The text: constant, plain ASCII, and a code first.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Misuse::$name => $text,)*
                }
            }
        }
    };
}

misuses! {
    /// INIT with other terms on a key that holds a sale.
    SaleExists
        "SALEEXISTS a sale with other terms is at this key (RESTOCK and ALTER change a sale)",
    /// A request id was used with other arguments.
    ReqMismatch "REQMISMATCH request id was used with other arguments",
    /// CLOSEAT is not after OPENAT.
    WindowEmpty "ERR CLOSEAT must be after OPENAT",
    /// HOLD is over the longest hold.
    HoldTooLong "ERR HOLD must be 0 to 2592000000 milliseconds",
    /// The outbox's name is too long.
    OutboxTooLong "ERR OUTBOX must be 1 to 1024 bytes",
    /// The sale has another outbox already.
    OutboxSet "ERR OUTBOX can be set only while the sale has none",
    /// The user has more than one grant and the request names none.
    Ambiguous "AMBIGUOUS user has several grants, give SEQ or REQ",
    /// The supply would exceed the largest integer.
    SupplyTooLarge "ERR supply must be 0 to 9007199254740991",
    /// The sale has as many grants as a seq can number.
    GrantsFull "ERR a sale has at most 4294967295 grants",
    /// Pieces of the AOF that the sale was rebuilt from are missing.
    Incomplete "ERR part of this sale's log is missing: restore it from a backup or resync it",
    /// Clock, version or epoch beyond its limit, through a wrong clock or a corrupt dump.
    Exhausted "ERR clock, version and epoch of a sale must be within their bounds",
    /// DRAW without a packet.
    DrawNoPackets "ERR PACKETS must be 1 to 4294967295",
    /// DRAW with more packets than a sale can have grants.
    DrawTooManyPackets "ERR PACKETS must be 1 to 4294967295",
    /// DRAW LIST with more amounts than one INIT takes.
    DrawListTooLong "ERR DRAW LIST takes at most 100000 amounts",
    /// DRAW PACKETS with MIN 0.
    DrawMinZero "ERR MIN must be 1 to 9007199254740991",
    /// The supply is too small to give every packet its minimum.
    DrawSupplyTooSmall "ERR supply must be enough for every packet",
    /// DRAW with an amount of 0.
    DrawAmountZero "ERR amount must be 1 to 9007199254740991",
    /// DRAW UNIFORM whose lower bound is above the upper one.
    DrawRangeEmpty "ERR DRAW UNIFORM must go from a smaller to a larger amount",
    /// The amounts of DRAW LIST don't add up to the supply.
    DrawSumDiffers "ERR supply must be the sum of the DRAW LIST amounts",
    /// DRAW LIST with EVERY.
    DrawListRepeats "ERR DRAW LIST can't be combined with EVERY",
    /// LIMIT on a sale that draws its amounts.
    DrawTakesNoLimit "ERR a sale with DRAW takes no LIMIT other than 0",
    /// QTY or UPTO on a sale that draws its amounts.
    DrawTakesNoAmount "ERR a sale with DRAW takes neither QTY nor UPTO",
    /// KEEP on a sale that draws its amounts.
    DrawTakesNoKeep "ERR a sale with DRAW takes no KEEP",
    /// EVERY or OFFSET is 0 or too long.
    PeriodOutOfRange "ERR EVERY must be 1 to 140737488355327 milliseconds",
    /// LASTS is 0 or longer than the period.
    LastsOutOfRange "ERR LASTS must be at least 1 and at most EVERY",
    /// IMPORT on a sale with rounds.
    RoundsTakeNoImport "ERR a sale with EVERY takes no IMPORT",
    /// MOD without a residue.
    ModNoResidue "ERR MOD needs at least 1 remainder, or is 0 to switch it off",
    /// MOD with a residue that is not below the modulus.
    ModResidueTooLarge "ERR MOD remainders must be less than the modulus",
    /// MOD with too many residues.
    ModTooManyResidues "ERR MOD takes at most 1000 remainders",
    /// SAMPLE of more than 1000 permille.
    SampleTooLarge "ERR SAMPLE must be 0 to 1000",
    /// SALT is too long.
    SaltTooLong "ERR SALT must be 0 to 128 bytes",
    /// The list has no room for that many users.
    ListFull "ERR a list of users must stay within 3758096384 bytes",
    /// RESTOCK or IMPORT on a sale whose packets share a fixed supply.
    DrawFixesSupply "ERR the supply of a sale with DRAW packets is fixed",
    /// The user's home is another part of the split.
    WrongPart "WRONGPART user belongs to another part",
    /// The request names another split.
    NotThisSplit "ERR not this split",
    /// The sale is not a part of a split.
    NotAPart "ERR not a part of a split",
    /// PART's number is not below the number of parts, or there are too many parts.
    PartOutOfRange "ERR PART must be less than OF",
    /// The split has no part of this number, or the number is this part's.
    NotAnotherPart "ERR part must be another one of this split",
    /// The split's id is empty or too long.
    SplitIdSize "ERR SPLIT must be 1 to 64 bytes",
    /// The part's share is larger than the total of all parts.
    ShareAboveTotal "ERR supply of a part must be at most TOTAL",
    /// PART with DRAW or EVERY.
    PartTakesNoDraw "ERR PART can't be combined with DRAW or EVERY",
    /// The units sent, received or promised would exceed the largest integer.
    MovedTooMany
        "ERR units of a part, sent, received and owed, must be at most 9007199254740991 each",
    /// WAITLIST above the largest allowed length.
    WaitlistTooLong "ERR WAITLIST must be 0 to 10000000",
    /// OFFER above the longest hold.
    OfferTooLong "ERR OFFER must be 0 to 2592000000 milliseconds",
    /// A waiting list with neither OFFER nor HOLD.
    OfferNeedsTime "ERR WAITLIST needs OFFER or HOLD, so that offers end",
    /// WAITLIST with DRAW or EVERY.
    WaitlistTakesNoDraw "ERR WAITLIST can't be combined with DRAW or EVERY",
    /// NUMBERED with DRAW, EVERY or PART.
    NumberedTakesNoDraw "ERR NUMBERED can't be combined with DRAW, EVERY or PART",
    /// More units than a sale can number.
    TooManyUnits "ERR a sale with NUMBERED has at most 10000000 units",
    /// A negative RESTOCK of numbered units.
    NumberedOnlyGrows "ERR a sale with NUMBERED takes no negative delta",
    /// KEEP of a number of units on a sale with numbered units.
    NumberedTakesNoKeep "ERR a sale with NUMBERED takes no KEEP n",
    /// KEEP UNITS none of which the grant has.
    KeepsNoUnit "ERR KEEP UNITS must name a unit of the grant",
    /// UPTO on a sale with numbered units.
    NumberedTakesNoUpTo "ERR a sale with NUMBERED takes no UPTO",
    /// More numbered units than one grant has.
    TooManyAtOnce "ERR QTY must be 1 to 100",
    /// ADJACENT or UNITS with WAIT.
    PickTakesNoWait "ERR WAIT can't be combined with ADJACENT or UNITS",
    /// ADJACENT or UNITS on a sale whose units have no numbers.
    NotNumbered "NOTNUMBERED sale has no numbered units",
    /// A number above that of the last unit.
    NoSuchUnit "ERR no such unit",
    /// IMPORT into a sale with numbered units without as many UNITS.
    ImportNeedsUnits "ERR a sale with NUMBERED takes UNITS, as many as qty",
}
