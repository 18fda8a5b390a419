//! Written from the module's own tables by `make docs`: change those, not this file.

/// Options of ALTER, and the fields of STATUS that show them.
pub const ALTERED: [(&str, &str); 8] = [
    ("LIMIT", "limit"),
    ("GRABS", "grabs"),
    ("HOLD", "hold_ms"),
    ("OPENAT", "open_at"),
    ("CLOSEAT", "close_at"),
    ("WAITLIST", "waitlist"),
    ("OFFER", "offer_ms"),
    ("OVERTAKE", "overtake"),
];
