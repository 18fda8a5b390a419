//! A web server for a page and a few numbers. axum runs on one thread, which never blocks; a few
//! workers call Redis. A connection costs no thread, has a time limit for each request's head, and
//! is closed when its client reads nothing.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use axum::extract::State;
use axum::http::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use socket2::SockRef;
use tokio::sync::{oneshot, watch, Semaphore};

use crate::print::tell;
use crate::stop::Stop;

/// Requests answered at a time.
const WORKERS: usize = 4;

/// Requests that may wait for a worker. Further requests get HTTP 503.
const QUEUE: usize = 256;

/// Most connections at a time. Further ones wait until one ends.
const CONNECTIONS: u64 = 4_096;

/// Files and sockets of the program itself, beside the connections.
const OTHER_FILES: u64 = 64;

/// A client must send the head of each request within this time.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Largest head of a request, in bytes.
const HEAD_BYTES: usize = 16 * 1024;

/// A client that reads nothing of its answer for this time is disconnected.
const SLOW_READER: Duration = Duration::from_secs(20);

/// Time between two checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// The content type of metrics for clients that name it in Accept; others get text 0.0.4.
pub const OPENMETRICS: &str = "application/openmetrics-text";

/// A request: its path, its query and its Accept header.
pub struct Asked {
    /// The path without its query, as it was sent.
    pub path: String,
    query: String,
    accept: String,
}

impl Asked {
    /// The value of a name in the query.
    pub fn query(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// Whether Accept names this media type.
    pub fn accepts(&self, kind: &str) -> bool {
        self.accept.contains(kind)
    }
}

/// The answer to a request.
pub struct Answer {
    /// 200, or 503 when the thing it is about is not well.
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    pub body: Body,
    /// Further headers.
    pub headers: Vec<(&'static str, &'static str)>,
}

/// The content of an answer.
pub enum Body {
    Text(String),
    /// Server-sent events: the current text first, then each new text, until the sender is dropped.
    Events(watch::Receiver<String>),
}

impl Answer {
    /// A page with status 200.
    pub fn ok(kind: &'static str, body: impl Into<String>) -> Answer {
        Answer::of(200, kind, body)
    }

    /// A page with another status.
    pub fn of(status: u16, kind: &'static str, body: impl Into<String>) -> Answer {
        Answer { status, kind, body: Body::Text(body.into()), headers: Vec::new() }
    }

    /// The answer of `/health`: 200, or 503 with the reason `ill`.
    pub fn health(ill: Option<String>) -> Answer {
        match ill {
            None => Answer::ok(TEXT, "OK\n"),
            Some(why) => Answer::of(503, TEXT, why + "\n"),
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = match self.body {
            Body::Text(text) => ([(CONTENT_TYPE, self.kind)], text).into_response(),
            Body::Events(texts) => {
                let next = |(mut texts, first): (watch::Receiver<String>, bool)| async move {
                    if !first {
                        texts.changed().await.ok()?;
                    }
                    let event = Event::default().data(texts.borrow_and_update().as_str());
                    Some((Ok::<_, std::convert::Infallible>(event), (texts, false)))
                };
                let events = futures_util::stream::unfold((texts, true), next);
                Sse::new(events).keep_alive(KeepAlive::default()).into_response()
            }
        };
        let status = StatusCode::from_u16(self.status);
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert("no-store".parse().unwrap_or(EMPTY));
        for (name, value) in self.headers {
            headers.insert(name, axum::http::HeaderValue::from_static(value));
        }
        response
    }
}

const EMPTY: axum::http::HeaderValue = axum::http::HeaderValue::from_static("");

/// A listening socket.
pub struct Listener {
    socket: TcpListener,
    /// The server's address, as `host:port`.
    pub address: SocketAddr,
}

/// The value of an option that names where to listen: `HOST:PORT`, or `:PORT`.
///
/// # Errors
/// An error message if it has no port.
pub fn address(text: &str) -> Result<String, String> {
    match text.rsplit_once(':').map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err("HOST:PORT or :PORT is expected".to_owned()),
    }
}

/// Listens, or fails at once. `:9847` is port 9847 of all addresses of the machine.
///
/// # Errors
/// An error message if the address is not available.
pub fn listen(address: &str) -> Result<Listener, String> {
    let all = |port| vec![format!("[::]:{port}"), format!("0.0.0.0:{port}")];
    let wanted = address.strip_prefix(':').map_or_else(|| vec![address.to_owned()], all);
    let failed = |e| format!("nothing can be served at {address}: {e}");
    // A machine without IPv6 can bind only the second address.
    let bind = |address: &String| {
        let bound = address.to_socket_addrs().and_then(|all| {
            let all: Vec<SocketAddr> = all.collect();
            TcpListener::bind(all.as_slice())
        });
        bound.and_then(|socket| {
            socket.set_nonblocking(true)?;
            let address = socket.local_addr()?;
            Ok(Listener { socket, address })
        })
    };
    let mut last = Err(String::new());
    for address in &wanted {
        last = bind(address).map_err(failed);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// A request, and the channel for its answer.
type Question = (Asked, oneshot::Sender<Answer>);

/// Answers requests until `stop`. `show` gets the request; for None the answer is 404.
pub fn serve(listener: &Listener, stop: &Stop, show: &(impl Fn(&Asked) -> Option<Answer> + Sync)) {
    let (ask, asked) = mpsc::sync_channel(QUEUE);
    let asked = Mutex::new(asked);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(&asked, show));
        }
        if let Err(error) = front(listener, stop, ask) {
            tell!("seckill: no web server: {error}");
        }
    });
}

/// The loop of a worker: ends when the server has dropped the sender of questions.
fn work(asked: &Mutex<Receiver<Question>>, show: &impl Fn(&Asked) -> Option<Answer>) {
    loop {
        let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((asked, reply)) = next else { return };
        let nothing = || Answer::of(404, TEXT, "There is nothing here.\n");
        // An error means that the client has disconnected, which needs no handling.
        let _ = reply.send(show(&asked).unwrap_or_else(nothing));
    }
}

fn front(listener: &Listener, stop: &Stop, ask: SyncSender<Question>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let socket = listener.socket.try_clone()?;
    let app = Router::new().fallback(answer).with_state(ask);
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(socket)?;
        tokio::select! {
            () = accept(&listener, &app) => {}
            () = told(stop) => {}
        }
        Ok(())
    })
}

async fn told(stop: &Stop) {
    while !stop.is_told() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn accept(listener: &tokio::net::TcpListener, app: &Router) {
    let room = Arc::new(Semaphore::new(connections()));
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // No file descriptor is free: another connection may end in a moment.
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        };
        // Where a system has no such time limit, the number of connections is the only bound.
        let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(SLOW_READER));
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
            // An error here means that the client disconnected or sent no HTTP, and has got its
            // HTTP error if possible.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

/// The largest number of connections, after the limit of open files has been raised.
fn connections() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = CONNECTIONS + OTHER_FILES;
    let wanted = maximum.map_or(wanted, |most| most.min(wanted));
    let is_less = current.is_some_and(|current| current < wanted);
    let raised =
        is_less && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok();
    let files = if raised { wanted } else { current.unwrap_or(wanted) };
    files.saturating_sub(OTHER_FILES).clamp(16, CONNECTIONS) as usize
}

async fn answer(
    State(ask): State<SyncSender<Question>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    if method != Method::GET && method != Method::HEAD {
        let mut answer = Answer::of(405, TEXT, "Only GET is answered.\n");
        answer.headers.push((ALLOW.as_str(), "GET, HEAD"));
        return answer;
    }
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let asked = Asked {
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        accept: accept.collect::<Vec<_>>().join(","),
    };
    let (reply, replied) = oneshot::channel();
    match ask.try_send((asked, reply)) {
        Err(TrySendError::Full(_)) => Answer::of(503, TEXT, "Too many ask at once.\n"),
        // The workers end after this thread; a question can only be lost with a worker.
        Err(TrySendError::Disconnected(_)) => Answer::of(500, TEXT, "No worker is left.\n"),
        Ok(()) => replied.await.unwrap_or_else(|_| Answer::of(500, TEXT, "The answer failed.\n")),
    }
}
