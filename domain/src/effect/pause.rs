//! The sale stops selling, and sells again.

use super::*;

/// PAUSE: the sale stops granting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pause;

impl Act for Pause {
    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.event(EventKind::Pause)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.paused = true;
    }
}

/// The sale sells again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Resume;

impl Act for Resume {
    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.event(EventKind::Resume)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.paused = false;
    }
}
