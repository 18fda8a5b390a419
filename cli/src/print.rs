//! The program's output. A reader that closes it before the end (`seckill winners sale | head -1`)
//! is no error. Work that changes a sale is then finished without output.

use std::fmt::Arguments;
use std::io::{stderr, stdout, ErrorKind, Result, StdoutLock, Write};
use std::process::exit;

/// Prints a line on standard output. Is false when standard output is closed.
macro_rules! say {
    ($($text:tt)*) => { $crate::print::out(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints a line on standard error; does nothing if that is closed.
macro_rules! tell {
    ($($text:tt)*) => { $crate::print::err(format_args!("{}\n", format_args!($($text)*))) };
}

pub(crate) use {say, tell};

/// See `say!`. Ends the program with an error message if the text can't be written, for example to
/// a full disk.
pub fn out(text: Arguments) -> bool {
    match stdout().write_fmt(text).and_then(|()| stdout().flush()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => false,
        Err(error) => {
            tell!("seckill: standard output: {error}");
            exit(1)
        }
    }
}

/// For `tell!`.
pub fn err(text: Arguments) {
    // Neither output works: there is nowhere to report it.
    let _ = stderr().write_fmt(text);
}

/// Standard output for a list. Ends the program with 0 when standard output is closed: the rest of
/// the list would be read for nothing.
pub struct ListOut(pub StdoutLock<'static>);

impl Write for ListOut {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write(bytes).inspect_err(end_unread)
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush().inspect_err(end_unread)
    }
}

fn end_unread(error: &std::io::Error) {
    if error.kind() == ErrorKind::BrokenPipe {
        exit(0)
    }
}
