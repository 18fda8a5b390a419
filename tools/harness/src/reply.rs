//! Replies of a server with their RESP type. `$-1`, `*-1` and `_` all become `Nil`.

use std::fmt;
use std::io::{self, BufRead};

/// Numbers in this range are times (Unix ms) or epochs.
pub const MOMENTS: std::ops::Range<u64> = 1_600_000_000_000..100_000_000_000_000;

/// One reply, in RESP2 or RESP3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Int(i64),
    Bulk(Vec<u8>),
    Nil,
    Array(Vec<Reply>),
    Map(Vec<(Reply, Reply)>),
    Set(Vec<Reply>),
    Push(Vec<Reply>),
    Bool(bool),
    /// Doubles, big numbers and verbatim strings, with their type byte.
    Other(char, Vec<u8>),
}

impl Reply {
    pub fn read(from: &mut impl BufRead) -> io::Result<Reply> {
        let line = read_line(from)?;
        let (&mark, text) = line.split_first().ok_or(io::ErrorKind::InvalidData)?;
        let count = || -> io::Result<i64> {
            let digits = String::from_utf8_lossy(text);
            digits.parse().map_err(|_| io::ErrorKind::InvalidData.into())
        };
        Ok(match mark {
            b'+' => Reply::Simple(text.to_vec()),
            b'-' => Reply::Error(text.to_vec()),
            b':' => Reply::Int(count()?),
            b'_' => Reply::Nil,
            b'#' => Reply::Bool(text == b"t"),
            b',' | b'(' => Reply::Other(mark.into(), text.to_vec()),
            _ if count()? < 0 => Reply::Nil,
            b'$' => Reply::Bulk(read_bulk(from, count()?)?),
            b'=' => Reply::Other('=', read_bulk(from, count()?)?),
            b'*' => Reply::Array(read_many(from, count()?)?),
            b'~' => Reply::Set(read_many(from, count()?)?),
            b'>' => Reply::Push(read_many(from, count()?)?),
            b'%' => {
                let flat = read_many(from, count()? * 2)?;
                Reply::Map(flat.chunks(2).map(|two| (two[0].clone(), two[1].clone())).collect())
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        })
    }

    /// The bytes of a string of any kind.
    #[track_caller]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Reply::Simple(text) | Reply::Bulk(text) | Reply::Other(_, text) => text,
            other => panic!("a string was expected, not {other}"),
        }
    }

    #[track_caller]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    #[track_caller]
    pub fn int(&self) -> i64 {
        match self {
            Reply::Int(number) => *number,
            other => panic!("an integer was expected, not {other}"),
        }
    }

    /// The elements of an array, a set or a push.
    #[track_caller]
    pub fn items(&self) -> &[Reply] {
        match self {
            Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => items,
            other => panic!("an array was expected, not {other}"),
        }
    }

    /// Names and values of a map. In RESP2 a map is a flat array.
    #[track_caller]
    pub fn pairs(&self) -> Vec<(String, Reply)> {
        match self {
            Reply::Map(pairs) => pairs.iter().map(|(k, v)| (k.text(), v.clone())).collect(),
            flat => flat.items().chunks(2).map(|two| (two[0].text(), two[1].clone())).collect(),
        }
    }

    /// The value under `name` in a map.
    #[track_caller]
    pub fn field(&self, name: &str) -> Reply {
        let found = self.pairs().into_iter().find(|(key, _)| key == name);
        found.unwrap_or_else(|| panic!("no field {name} in {self}")).1
    }

    /// The reply as text, with `T` for every time.
    pub fn timeless(&self) -> String {
        let text = self.to_string();
        let words = text.split(' ').map(|word| {
            let bare = word.trim_matches(['[', ']', '\'']);
            match bare.parse::<u64>() {
                Ok(number) if MOMENTS.contains(&number) => word.replace(bare, "T"),
                _ => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether the reply equals the text of a test. In that text `T` stands for any time, and
    /// `-CODE` for any error with that code.
    pub fn is(&self, written: &str) -> bool {
        let shown = self.to_string();
        let is_code = self.is_error() && shown.split(' ').next() == Some(written);
        is_code || shown == written || self.timeless() == written
    }

    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }
}

/// The notation of the tests: `+OK`, `-ERR text`, `7`, `'bulk'`, `nil`, `[array of 3]`,
/// `{'key': value}`, `>[push]`, `~[set]`, `#t`.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Simple(text) => write!(f, "+{}", text.escape_ascii()),
            Reply::Error(text) => write!(f, "-{}", String::from_utf8_lossy(text)),
            Reply::Int(number) => write!(f, "{number}"),
            Reply::Bulk(bytes) => write!(f, "'{}'", bytes.escape_ascii()),
            Reply::Nil => write!(f, "nil"),
            Reply::Array(items) => write!(f, "[{}]", joined(items)),
            Reply::Set(items) => write!(f, "~[{}]", joined(items)),
            Reply::Push(items) => write!(f, ">[{}]", joined(items)),
            Reply::Bool(value) => write!(f, "#{}", if *value { 't' } else { 'f' }),
            Reply::Other(mark, text) => write!(f, "{mark}{}", text.escape_ascii()),
            Reply::Map(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                write!(f, "{{{}}}", pairs.join(" "))
            }
        }
    }
}

fn joined(items: &[Reply]) -> String {
    items.iter().map(Reply::to_string).collect::<Vec<_>>().join(" ")
}

/// A line without its CRLF.
pub fn read_line(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.len().saturating_sub(2));
    Ok(line)
}

fn read_bulk(from: &mut impl BufRead, len: i64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len as usize + 2];
    from.read_exact(&mut bytes)?;
    bytes.truncate(len as usize);
    Ok(bytes)
}

fn read_many(from: &mut impl BufRead, count: i64) -> io::Result<Vec<Reply>> {
    (0..count).map(|_| Reply::read(from)).collect()
}
