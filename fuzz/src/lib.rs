//! Shared parts of the fuzz targets: the models of the tests, sales to alter, and the meaning of
//! the fuzzer's bytes.
//!
//! The first byte chooses a sale at the end of a simulation. The other bytes are alterations of
//! five bytes each, so that the fuzzer passes all checks even with an empty corpus. After an 0xff
//! they are the strings themselves, each after two bytes of length.

use std::cell::LazyCell;
use std::process::ExitCode;

use seckill_model::sim::{samples, Sample};

/// The main function of a target: `check` gets the fuzzer's bytes. Without cargo-fuzz it gets the
/// bytes of files that the fuzzer has written.
#[macro_export]
macro_rules! target {
    ($check:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $check(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::try_files($check)
        }
    };
}

/// Calls `check` with the bytes of each file on the command line.
pub fn try_files(check: fn(&[u8])) -> ExitCode {
    let mut tried = 0;
    for file in std::env::args_os().skip(1) {
        match std::fs::read(&file) {
            Ok(bytes) => check(&bytes),
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
        tried += 1;
    }
    println!("{tried} files tried");
    ExitCode::SUCCESS
}

/// The byte after which the fuzzer's bytes are the strings themselves.
const RAW: u8 = 0xff;

/// Bytes of one alteration: string, position (2), kind, value.
const EDIT_BYTES: usize = 5;

thread_local! {
    /// Sales on all kinds of terms.
    static CORPUS: LazyCell<Vec<Sample>> = LazyCell::new(|| (0..40).flat_map(samples).collect());
}

/// Calls `body` with the sample that the bytes choose, if any.
pub fn with_choice(data: &[u8], body: impl FnOnce(&[Sample], &Sample, &[u8])) {
    CORPUS.with(|corpus| {
        if let Some((sample, rest)) = choose(corpus, data) {
            body(corpus, sample, rest);
        }
    });
}

/// The sample that the bytes choose, and the other bytes.
pub fn choose<'s, 'd>(from: &'s [Sample], data: &'d [u8]) -> Option<(&'s Sample, &'d [u8])> {
    let (first, rest) = data.split_first()?;
    Some((&from[usize::from(*first) % from.len()], rest))
}

/// The strings, altered as the bytes say.
pub fn altered(mut strings: Vec<Vec<u8>>, data: &[u8]) -> Vec<Vec<u8>> {
    if data.first() == Some(&RAW) {
        return raw(&data[1..]);
    }
    for edit in data.chunks_exact(EDIT_BYTES) {
        if strings.is_empty() {
            break;
        }
        let at = usize::from(edit[0]) % strings.len();
        alter(&mut strings, at, usize::from(edit[1]) << 8 | usize::from(edit[2]), edit[3], edit[4]);
    }
    strings
}

fn alter(strings: &mut Vec<Vec<u8>>, at: usize, place: usize, how: u8, with: u8) {
    let string = &mut strings[at];
    let place = place % (string.len() + 1);
    match how % 8 {
        0 => string.insert(place, with),
        1 => string.truncate(place),
        2 => drop(strings.remove(at)),
        3 => strings.insert(at, strings[at].clone()),
        4 => {
            let to = usize::from(with) % strings.len();
            strings.swap(at, to);
        }
        _ if place == string.len() => string.push(with),
        5 => drop(string.remove(place)),
        6 => string[place] = string[place].wrapping_add(with),
        _ => string[place] = with,
    }
}

fn raw(mut data: &[u8]) -> Vec<Vec<u8>> {
    let mut strings = Vec::new();
    while let [high, low, rest @ ..] = data {
        let len = (usize::from(*high) << 8 | usize::from(*low)).min(rest.len());
        strings.push(rest[..len].to_vec());
        data = &rest[len..];
    }
    strings
}
