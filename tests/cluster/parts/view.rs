//! Reads parts by PARTS.

use super::{key, PARTS};
use crate::routed::Routed;

/// A reply to PARTS. `sent` and `received` have a total for each part.
pub struct View {
    pub put_in: i64,
    pub available: i64,
    pub held: i64,
    pub deficit: i64,
    pub elsewhere: i64,
    pub sent: Vec<i64>,
    pub received: Vec<i64>,
}

/// Reads a part from its primary.
#[track_caller]
pub fn read(client: &mut Routed, part: usize) -> View {
    let reply = client.cmd(&format!("SECKILL.PARTS {}", key(part)));
    assert!(!reply.is_error(), "{}: {reply}", key(part));
    let number = |place: usize| reply.items()[place].int();
    let mut sent = vec![0; PARTS.get().into()];
    let mut received = sent.clone();
    for row in reply.items()[9].items() {
        let peer = row.items()[0].int() as usize;
        (sent[peer], received[peer]) = (row.items()[1].int(), row.items()[2].int());
    }
    let [put_in, available, held, deficit, elsewhere] = [3, 4, 5, 6, 7].map(number);
    View { put_in, available, held, deficit, elsewhere, sent, received }
}

/// All parts, one after the other.
#[track_caller]
pub fn read_all(client: &mut Routed) -> Vec<View> {
    (0..PARTS.get().into()).map(|part| read(client, part)).collect()
}

/// Units that parts have received, and units that were sent but not yet received.
pub fn moved(views: &[View]) -> (i64, i64) {
    let sum = |of: &dyn Fn(&View) -> &Vec<i64>| views.iter().flat_map(of).sum::<i64>();
    let (sent, received) = (sum(&|view| &view.sent), sum(&|view| &view.received));
    (received, sent - received)
}
