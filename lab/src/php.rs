//! Runs the posts' PHP: php-fpm with phpredis behind nginx, and `ab -c 500 -n 4000`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::Connection;
use rustix::process::{kill_process, Pid, Signal};
use seckill_harness::launch::free_port;
use seckill_harness::process::command;
use seckill_harness::program::Server;

use crate::strategies::count;

/// Number of php-fpm processes: as many as ab has connections.
const CHILDREN: usize = 500;
const REQUESTS: usize = 4000;

/// A page, how its sale is created, and how its result is read.
pub struct Page {
    pub name: &'static str,
    pub query: &'static str,
    open: fn(&mut Connection) -> redis::RedisResult<()>,
    books: fn(&mut Connection) -> redis::RedisResult<String>,
}

/// The results of one page.
pub struct Shown {
    pub page: String,
    pub won: u64,
    pub errors: u64,
    pub books: String,
    pub per_second: f64,
}

fn set(redis: &mut Connection, key: &str, value: u64) -> redis::RedisResult<()> {
    redis::cmd("SET").arg(key).arg(value).exec(redis)
}

fn say(redis: &mut Connection, words: &[&str]) -> redis::RedisResult<String> {
    let value: redis::Value = redis::cmd(words[0]).arg(&words[1..]).query(redis)?;
    Ok(format!("{} {}", words.join(" "), crate::wire::shown(&value)))
}

fn push(redis: &mut Connection, units: std::ops::Range<u64>) -> redis::RedisResult<()> {
    redis::cmd("RPUSH").arg("award:100").arg(units.collect::<Vec<_>>()).exec(redis)
}

const GOODS: Page = Page {
    name: "",
    query: "",
    open: |redis| set(redis, "goods", 100),
    books: |redis| say(redis, &["GET", "goods"]),
};
const HEADS: Page = Page {
    open: |redis| set(redis, "totalkey", 0),
    books: |redis| say(redis, &["GET", "totalkey"]),
    ..GOODS
};
const WATCHED: Page = Page {
    open: |redis| set(redis, "mywatchkey", 0),
    books: |redis| {
        Ok(format!(
            "{}, {}",
            say(redis, &["GET", "mywatchkey"])?,
            say(redis, &["HLEN", "mywatchlist"])?
        ))
    },
    ..GOODS
};
const AWARDS: Page = Page {
    open: |redis| push(redis, 1..101),
    books: |redis| say(redis, &["LLEN", "award:100"]),
    ..GOODS
};

/// All pages, in the order of the posts.
pub const PAGES: &[Page] = &[
    Page { name: "000-1-printed", ..WATCHED },
    Page { name: "000-1-meant", ..WATCHED },
    Page { name: "000-2-printed", ..AWARDS },
    // The list of tokens begins with 0: `if(!$award)` treats the token "0" as none.
    Page {
        name: "000-2-printed",
        query: "?tokens=0-99",
        open: |redis| push(redis, 0..100),
        ..AWARDS
    },
    Page {
        name: "000-3-printed",
        open: |_| Ok(()),
        books: |redis| say(redis, &["HLEN", "mywatchlist"]),
        ..GOODS
    },
    Page { name: "001-printed", ..HEADS },
    Page { name: "001-meant", ..HEADS },
    Page { name: "003-printed", query: "?demo=1", ..GOODS },
    Page { name: "003-printed", query: "?demo=2", ..GOODS },
    Page { name: "003-printed", query: "?demo=3", ..GOODS },
    Page { name: "003-printed", query: "?demo=4", ..GOODS },
    Page { name: "003-printed", query: "?demo=5", ..GOODS },
    Page { name: "003-printed", query: "?demo=6", ..GOODS },
    Page { name: "003-meant", query: "?demo=2", ..GOODS },
    Page { name: "003-meant", query: "?demo=3", ..GOODS },
    Page { name: "003-meant", query: "?demo=4", ..GOODS },
    Page { name: "003-meant", query: "?demo=5", ..GOODS },
    Page { name: "003-meant", query: "?demo=6", ..GOODS },
    Page {
        name: "seckill",
        open: |redis| redis::cmd("SECKILL.INIT").arg("sale").arg(100).exec(redis),
        books: |redis| {
            let status: Vec<redis::Value> =
                redis::cmd("SECKILL.STATUS").arg("sale").query(redis)?;
            Ok(format!(
                "available {}, sold {}",
                count(&status, "available"),
                count(&status, "sold")
            ))
        },
        ..GOODS
    },
];

/// Running php-fpm and nginx; dropping the value ends them.
pub struct Site {
    redis: Server,
    children: Vec<Child>,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.children {
            // A killed master process leaves its workers behind; SIGTERM ends them first.
            let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
            // Both calls fail only if the process has already exited.
            let _ = if asked { child.wait().map(drop) } else { child.kill() };
        }
    }
}

impl Site {
    /// # Errors
    /// A message that says what is missing.
    pub fn start(module: &Path, pages: &Path) -> Result<Site, String> {
        let clients = (CHILDREN * 2).to_string();
        let redis = Server::start(module, &["--maxclients", &clients, "--tcp-backlog", "1024"])?;
        let folder = tempfile::tempdir().map_err(|e| format!("No temporary folder: {e}"))?;
        let port = free_port();
        let mut site = Site { redis, children: Vec::new(), port, folder };
        site.write("lock.txt", "")?;
        let fpm = site.write("fpm.conf", &site.fpm_conf(pages))?;
        let nginx = site.write("nginx.conf", &site.nginx_conf(pages))?;
        let mut php = command(&php_fpm()?.into_os_string());
        php.args(["-F", "-R", "-y"]).arg(fpm).current_dir(pages);
        site.spawn(php)?;
        let mut web = command("/usr/sbin/nginx".as_ref());
        web.arg("-p").arg(site.folder.path()).arg("-c").arg(nginx);
        site.spawn(web)?;
        site.wait_until_up()?;
        Ok(site)
    }

    fn spawn(&mut self, mut command: Command) -> Result<(), String> {
        let log = fs::File::create(self.folder.path().join(format!("out-{}", self.children.len())));
        let log = log.map_err(|e| e.to_string())?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.children.push(child.map_err(|e| format!("{command:?}: {e}"))?);
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let file = self.folder.path().join(name);
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(file)
    }

    fn fpm_conf(&self, pages: &Path) -> String {
        let (folder, port) = (self.folder.path().display(), self.redis.port());
        format!(
            "[global]\nerror_log = {folder}/fpm.log\ndaemonize = no\n\
             [www]\nlisten = {folder}/php.sock\nlisten.backlog = 4096\n{}\
             pm = static\npm.max_children = {CHILDREN}\nclear_env = no\n\
             env[REDIS_PORT] = {port}\nenv[LAB_FOLDER] = {folder}\n\
             php_admin_value[auto_prepend_file] = {}/prepend.php\n\
             php_admin_value[display_errors] = off\nphp_admin_value[log_errors] = on\n\
             php_admin_value[error_log] = {folder}/php.log\n",
            user("user = root\ngroup = root\n"),
            pages.display()
        )
    }

    fn nginx_conf(&self, pages: &Path) -> String {
        let (folder, port) = (self.folder.path().display(), self.port);
        format!(
            "{}daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\n\
             worker_rlimit_nofile 8192;\nevents {{ worker_connections 4096; }}\n\
             http {{\n log_format told '$request_uri $status $upstream_http_x_told';\n\
             access_log {folder}/access.log told;\n\
             client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; \
             fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; \
             scgi_temp_path {folder}/t5;\n\
             server {{\n listen 127.0.0.1:{port} backlog=4096;\n location / {{\n\
             fastcgi_pass unix:{folder}/php.sock;\n fastcgi_read_timeout 300s;\n\
             fastcgi_param REQUEST_METHOD $request_method; \
             fastcgi_param QUERY_STRING $query_string;\n\
             fastcgi_param REQUEST_ID $request_id;\n\
             fastcgi_param SCRIPT_FILENAME {}$fastcgi_script_name;\n }} }} }}\n",
            user("user root;\n"),
            pages.display()
        )
    }

    /// Returns when nginx and php-fpm answer. The request is for a missing page, because a real
    /// page would log an error before its sale is created.
    fn wait_until_up(&self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let php = self.folder.path().join("php.sock");
        while Instant::now() < deadline {
            if UnixStream::connect(&php).is_err() {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let got = Command::new("ab").args(["-q", "-n", "1", &self.url("none", "")]).output();
            let got = got.map_err(|e| format!("There is no ab here ({e}): make lab-php-deps"))?;
            if String::from_utf8_lossy(&got.stdout).contains("Complete requests:      1") {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log =
            |name: &str| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        Err(format!(
            "php-fpm and nginx do not answer: {}{}{}",
            log("out-0"),
            log("out-1"),
            log("nginx.log")
        ))
    }

    fn url(&self, page: &str, query: &str) -> String {
        format!("http://127.0.0.1:{}/{page}.php{query}", self.port)
    }

    /// Runs `ab -c 500 -n 4000` on one page.
    ///
    /// # Errors
    /// The error of ab or of a server.
    pub fn show(&self, page: &Page) -> Result<Shown, String> {
        let mut redis = self.redis.connect()?;
        let opened = redis::cmd("FLUSHALL").exec(&mut redis).and_then(|()| (page.open)(&mut redis));
        opened.map_err(|e| e.to_string())?;
        let log = self.folder.path().join("access.log");
        let before = fs::metadata(&log).map(|log| log.len()).unwrap_or(0);
        let ab = Command::new("ab")
            .args(["-q", "-s", "300", "-c", "500", "-n", &REQUESTS.to_string()])
            .arg(self.url(page.name, page.query))
            .output()
            .map_err(|e| format!("ab: {e}"))?;
        let said = String::from_utf8_lossy(&ab.stdout).into_owned();
        let line = said.lines().find(|line| line.starts_with("Requests per second"));
        let per_second = line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
        let Some(per_second) = per_second else {
            return Err(format!(
                "ab did not come to an end: {}",
                String::from_utf8_lossy(&ab.stderr)
            ));
        };
        let lines = self.logged(&log, before as usize)?;
        let count = |what: fn(&str) -> bool| lines.iter().filter(|line| what(line)).count() as u64;
        Ok(Shown {
            page: format!("{}{}", page.name, page.query),
            won: count(|line| line.ends_with(" won")),
            errors: count(|line| line.contains(" 500 ") || line.contains(" 502 ")),
            books: (page.books)(&mut redis).map_err(|e| e.to_string())?,
            per_second,
        })
    }

    /// nginx logs a request after its answer, so ab may finish shortly before the last lines.
    fn logged(&self, log: &Path, from: usize) -> Result<Vec<String>, String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = fs::read_to_string(log).map_err(|e| e.to_string())?;
            let lines: Vec<String> = text[from..].lines().map(str::to_owned).collect();
            if lines.len() >= REQUESTS || Instant::now() > deadline {
                return Ok(lines);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The errors in PHP's log with their counts.
    pub fn errors(&self) -> BTreeMap<String, usize> {
        let text = fs::read_to_string(self.folder.path().join("php.log")).unwrap_or_default();
        let mut kinds = BTreeMap::new();
        for line in
            text.lines().filter(|line| line.contains("PHP Fatal") || line.contains("PHP Warning"))
        {
            let what = line.split_once("] ").map_or(line, |(_, what)| what);
            let what = what.split(" in /").next().unwrap_or(what);
            *kinds.entry(what.to_owned()).or_default() += 1;
        }
        kinds
    }
}

/// Only root must name the user of the processes.
fn user(line: &str) -> &str {
    if rustix::process::geteuid().is_root() {
        line
    } else {
        ""
    }
}

fn php_fpm() -> Result<PathBuf, String> {
    let found = fs::read_dir("/usr/sbin").map_err(|e| e.to_string())?;
    let is_fpm = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("php-fpm8"))
    };
    let mut all: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).filter(is_fpm).collect();
    all.sort();
    all.pop().ok_or_else(|| "There is no php-fpm here: make lab-php-deps".into())
}
