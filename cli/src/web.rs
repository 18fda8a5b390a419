//! A web server for a page and a few numbers.

use std::io::Cursor;
use std::thread;
use std::time::Duration;

use tiny_http::{Header, Method, Request, Response};

use crate::stop::Stop;

/// So many requests are answered at once; who does not read their answer keeps one busy.
const WORKERS: usize = 4;

/// How often a worker looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a path shows.
pub struct Answer {
    /// 200, or 503 when what it is about is not well.
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    /// What follows.
    pub body: String,
}

impl Answer {
    /// One that went well.
    pub fn ok(kind: &'static str, body: impl Into<String>) -> Answer {
        Answer { status: 200, kind, body: body.into() }
    }

    /// What `/health` says: that all is well, or what isn't.
    pub fn health(ill: Option<String>) -> Answer {
        match ill {
            None => Answer::ok(TEXT, "OK\n"),
            Some(why) => Answer { status: 503, kind: TEXT, body: why + "\n" },
        }
    }
}

/// Listens, or fails at once.
///
/// # Errors
/// A sentence when the address can't be had.
pub fn listen(address: &str) -> Result<tiny_http::Server, String> {
    tiny_http::Server::http(address).map_err(|e| format!("nothing can be served at {address}: {e}"))
}

/// Answers until it is told to stop. `show` gets the path; what it does not know is 404.
pub fn serve(
    server: &tiny_http::Server,
    stop: &Stop,
    show: &(impl Fn(&str) -> Option<Answer> + Sync),
) {
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while !stop.is_told() {
                    if let Ok(Some(request)) = server.recv_timeout(LOOK_EVERY) {
                        answer(request, show);
                    }
                }
            });
        }
    });
}

fn answer(request: Request, show: &impl Fn(&str) -> Option<Answer>) {
    let path = request.url().split('?').next().unwrap_or_default();
    let answer = match request.method() {
        Method::Get | Method::Head => show(path).unwrap_or(Answer {
            status: 404,
            kind: TEXT,
            body: "There is nothing here.\n".into(),
        }),
        _ => Answer { status: 405, kind: TEXT, body: "Only GET is answered.\n".into() },
    };
    let mut response: Response<Cursor<Vec<u8>>> =
        Response::from_string(answer.body).with_status_code(answer.status);
    for (name, value) in [("Content-Type", answer.kind), ("Cache-Control", "no-store")] {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    // Who asked may have left; nobody else is concerned.
    let _ = request.respond(response);
}

/// Plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";
