//! Shared objects in C that servers load, each compiled once beside the program: the other module
//! (other_module.c), and the libraries that set a server's clock (clock_step.c) and watch its disk
//! (watch.c).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::client::Conn;
use super::reply::Reply;

pub fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("other_module"))
}

/// The path of the shared object of `name.c`.
pub(super) fn built(name: &str) -> PathBuf {
    // Tests of one program that build the same file would use one draft.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("src").join(name).with_extension("c");
    let test = std::env::current_exe().expect("the path of this test");
    let built = test.with_file_name(format!("lib{name}.so"));
    let draft = test.with_file_name(format!("lib{name}-{}.so", process::id()));
    if !is_newer(&built, &source) {
        compile(&source, &draft);
        // Two test programs may build the file at once. Both builds are equal, so the last one may
        // replace the first.
        fs::rename(&draft, &built).expect("the file gets its name");
    }
    built
}

fn is_newer(file: &Path, than: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    matches!((time(file), time(than)), (Ok(file), Ok(than)) if file > than)
}

fn compile(source: &Path, out: &Path) {
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fPIC", "-shared"];
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg("-I").arg(headers()).arg("-o").arg(out);
    let done = compiler.arg(source).arg("-lpthread").output().expect("cc runs");
    assert!(done.status.success(), "cc says:\n{}", String::from_utf8_lossy(&done.stderr));
}

/// The folder of redismodule.h in the crate redis-module. Cargo lists the source files of a crate
/// beside the test program, or in a subfolder.
fn headers() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folders = [test.with_file_name(""), test.with_file_name("deps")];
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let notes = files.filter_map(|entry| {
        let name = entry.as_ref().ok()?.file_name();
        let name = name.to_str()?;
        let is_it = name.starts_with("redis_module-") && name.ends_with(".d");
        is_it.then(|| fs::read_to_string(entry.ok()?.path()).ok()).flatten()
    });
    let header = notes.into_iter().find_map(|note| {
        let source = note.split_whitespace().find(|word| word.ends_with("/src/lib.rs"))?;
        let header = Path::new(source).with_file_name("include");
        header.join("redismodule.h").is_file().then_some(header)
    });
    header.expect("the header of the crate redis-module")
}

/// The replies to the calls that OTHER.ON made, in the notation of [`Reply`].
#[track_caller]
pub fn said(conn: &mut Conn) -> Vec<String> {
    let said = conn.cmd("OTHER.SAID");
    let read = |text: &Reply| Reply::read(&mut text.bytes()).expect("a reply in RESP").to_string();
    said.items().iter().map(read).collect()
}
