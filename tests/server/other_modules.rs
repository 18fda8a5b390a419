//! Another module in the same server calls our commands in ways that no client can.

use crate::support::other_module::said;
use crate::support::shop::{check, counter, state_of, wait_for_no_holds};
use crate::support::{Options, Server};

fn start() -> Server {
    Options::new().with_other_module().start()
}

/// From a thread of its own, holding the server's lock: the same replies, errors and effects, and
/// holds run out by timer, the thread's and those of clients.
#[test]
fn a_call_from_another_modules_thread_is_one_like_any_other() {
    let (server, replica) = (start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    check(
        &mut conn,
        &[
            ("OTHER.THREAD SECKILL.INIT k 10 HOLD 300", "+OK"),
            ("OTHER.THREAD SECKILL.GRAB k thread", "['GRANTED' 1 1 'HELD' T 9]"),
            ("SECKILL.GRAB k client", "['GRANTED' 2 1 'HELD' T 8]"),
            ("OTHER.THREAD SECKILL.GRAB none u", "-NOSALE no sale at this key"),
        ],
    );
    wait_for_no_holds(&server, "k");
    for user in ["thread", "client"] {
        assert_eq!(state_of(&mut conn, "k", user), "EXPIRED");
    }
    assert_eq!(counter(&mut conn, "k", "expired"), 2);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("k"), server.digest("k"));
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    server.assert_sound("k");
}

/// From inside a notification: the inner call finds the sale as the outer one left it.
#[test]
fn a_call_from_inside_a_notification_is_one_like_any_other() {
    let (server, replica) = (start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.INIT k 10", "+OK"),
        ("OTHER.ON seckill.grant k SECKILL.GRAB k inner", "+OK"),
        ("SECKILL.GRAB k outer", "['GRANTED' 1 1 'SOLD' 0 9]"),
        ("SECKILL.GRAB k other", "['GRANTED' 3 1 'SOLD' 0 7]"),
    ]);
    let again = "['ALREADY' 2 1 'SOLD' 0]";
    assert_eq!(said(&mut conn), ["['GRANTED' 2 1 'SOLD' 0 8]", again]);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("k"), server.digest("k"));
    assert_eq!(replica.info("seckill", "seckill_apply_refused"), "0");
    server.assert_sound("k");
}
