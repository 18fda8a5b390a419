//! Counts answers by kind.

use super::plan::Click;
use super::wire::Reply;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub granted: u64,
    pub already: u64,
    pub replayed: u64,
    pub soldout: u64,
    pub notopen: u64,
    pub unexpected: u64,
}

impl Heard {
    pub fn count(answers: &[(Click, Reply)]) -> Heard {
        let mut heard = Heard::default();
        for (_, reply) in answers {
            *match reply {
                Reply::Granted { .. } => &mut heard.granted,
                Reply::Already { .. } => &mut heard.already,
                Reply::Replay { .. } => &mut heard.replayed,
                Reply::SoldOut { .. } => &mut heard.soldout,
                Reply::NotOpen { .. } => &mut heard.notopen,
                Reply::Unexpected(_) => &mut heard.unexpected,
            } += 1;
        }
        heard
    }

    pub fn all(&self) -> u64 {
        let refused = self.already + self.replayed + self.soldout + self.notopen;
        self.granted + refused + self.unexpected
    }
}
