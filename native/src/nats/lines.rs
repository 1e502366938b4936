//! The NATS protocol line by line, in one direction: `jsdoctor.parse.packets.nats.lines`.
#![forbid(unsafe_code)]

use std::mem::take;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::words::{Words, digits, strip};

const LONGEST_LINE: usize = 256 * 1024;
const GIVE_UP_BYTES: usize = 256 * 1024;
const GIVE_UP_LINES: u32 = 4;
const END_OF_LINE: usize = 2;
const MOST_DIGITS: usize = 9;
const LONGEST_WORDS: usize = 4096;
const SEARCHED_AGAIN: usize = 8192;
const FIRST_LETTERS: &[u8] = b"IiCcPpSsHhMm+-";
const FOREIGN_LETTERS: &[u8] = b"\x14\x15\x16\x17\xffGH";
const FRAME_LETTERS: &[u8] = b"\x02\x42\x82\xc2";

static UPGRADE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i-u)\r\nUpgrade:[ \t]*websocket\r\n").expect("a pattern of this file"));

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    Unknown,
    Nats,
    Tls,
    S2,
    WebSocket,
    Other,
}

impl Content {
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Nats => "nats",
            Self::Tls => "tls",
            Self::S2 => "s2",
            Self::WebSocket => "websocket",
            Self::Other => "other",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    Pub,
    Hpub,
    Msg,
    Hmsg,
    Rmsg,
    Lmsg,
    Info,
    Connect,
    Sub,
    Unsub,
    Ping,
    Pong,
    Ok,
    Err,
    /// Interest of a route, a leaf node or a gateway.
    Route,
    Leaf,
    Gateway,
}

impl Verb {
    pub fn of(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"PUB" => Self::Pub,
            b"HPUB" => Self::Hpub,
            b"MSG" => Self::Msg,
            b"HMSG" => Self::Hmsg,
            b"RMSG" => Self::Rmsg,
            b"LMSG" => Self::Lmsg,
            b"INFO" => Self::Info,
            b"CONNECT" => Self::Connect,
            b"SUB" => Self::Sub,
            b"UNSUB" => Self::Unsub,
            b"PING" => Self::Ping,
            b"PONG" => Self::Pong,
            b"+OK" => Self::Ok,
            b"-ERR" => Self::Err,
            b"RS+" | b"RS-" => Self::Route,
            b"LS+" | b"LS-" => Self::Leaf,
            b"A+" | b"A-" => Self::Gateway,
            _ => return None,
        })
    }

    pub fn has_headers(self) -> bool {
        matches!(self, Self::Hpub | Self::Hmsg)
    }

    /// How many words a message has at least before its last length; None for lines without a body.
    fn fewest_words(self) -> Option<usize> {
        match self {
            Self::Pub | Self::Msg | Self::Rmsg | Self::Lmsg => Some(2),
            Self::Hpub | Self::Hmsg => Some(3),
            _ => None,
        }
    }
}

/// Who understands the lines.
pub trait Listener {
    type Error;

    fn line(&mut self, at_ns: i64, verb: Verb, rest: &[u8]) -> Result<(), Self::Error>;
    /// A message begins, lengths apart. Returns how many bytes of headers and payload are wanted.
    fn message(
        &mut self,
        at_ns: i64,
        verb: Verb,
        words: &Words<'_>,
        header_length: usize,
        length: usize,
    ) -> Result<usize, Self::Error>;
    fn body(&mut self, at_ns: i64, content: &[u8]) -> Result<(), Self::Error>;
    fn missed(&mut self) -> Result<(), Self::Error>;
    /// Whether a frame of WebSocket with NATS in it begins here.
    fn begins_frame(&mut self, data: &[u8]) -> Result<bool, Self::Error>;
}

/// From `rest` on, the bytes are frames of WebSocket.
pub struct Upgrade {
    pub at_ns: i64,
    pub rest: Vec<u8>,
    pub synced: bool,
}

pub struct Reader {
    buffer: Vec<u8>,
    left: usize,
    wanted: usize,
    synced: bool,
    fresh: bool,
    searched: usize,
    bad_row: u32,
    pub bad_lines: u64,
    pub resyncs: u64,
    pub content: Content,
    pub readable: bool,
    pub upgrade: Option<Upgrade>,
}

/// Where to go on, or nothing before more has come.
type Next = Option<usize>;

impl Reader {
    pub fn new(from_start: bool) -> Self {
        Self {
            buffer: vec![],
            left: 0,
            wanted: 0,
            synced: from_start,
            fresh: from_start,
            searched: 0,
            bad_row: 0,
            bad_lines: 0,
            resyncs: 0,
            content: Content::Unknown,
            readable: true,
            upgrade: None,
        }
    }

    /// The next bytes.
    pub fn data<L: Listener>(&mut self, at_ns: i64, data: &[u8], listener: &mut L) -> Result<(), L::Error> {
        if !self.readable || data.is_empty() {
            return Ok(());
        }
        if !self.synced
            && self.content == Content::Unknown
            && FRAME_LETTERS.contains(&data[0])
            && listener.begins_frame(data)?
        {
            self.upgrade(at_ns, data, true);
            return Ok(());
        }
        if !self.buffer.is_empty() {
            let mut text = take(&mut self.buffer);
            text.extend_from_slice(data);
            let used = self.read(at_ns, &text, 0, listener)?;
            if used == 0 {
                self.buffer = text;
            } else {
                self.buffer.extend_from_slice(&text[used..]);
                text.fill(0);
            }
            return Ok(());
        }
        let mut at = 0;
        if self.left > END_OF_LINE && self.wanted == 0 {
            at = self.left - END_OF_LINE;
            if at >= data.len() {
                self.left -= data.len();
                return Ok(());
            }
            if data.get(at..self.left) == Some(b"\r\n") {
                at = self.left;
                self.left = 0;
            } else {
                self.left = END_OF_LINE;
            }
        }
        if at < data.len() {
            let used = self.read(at_ns, data, at, listener)?;
            self.buffer.extend_from_slice(&data[used..]);
        }
        Ok(())
    }

    /// So many bytes were cut off, or are missing: harmless inside of a body.
    pub fn uncaptured<L: Listener>(&mut self, at_ns: i64, length: usize, listener: &mut L) -> Result<(), L::Error> {
        if !self.readable {
            return Ok(());
        }
        if self.left > 0 {
            let gone = self.buffer.len() + length;
            let inside = gone <= self.left;
            self.left = self.left.saturating_sub(gone);
            if self.wanted > 0 {
                let buffer = take(&mut self.buffer);
                let content = &buffer[..buffer.len().min(self.wanted)];
                self.wanted = 0;
                listener.body(at_ns, content)?;
            }
            self.forget();
            if inside {
                return Ok(());
            }
        }
        self.lose_place(at_ns, listener)
    }

    /// It is not to be read; nothing of it is kept.
    pub fn give_up(&mut self, content: Content) {
        self.content = content;
        self.readable = matches!(content, Content::Unknown | Content::Nats);
        self.forget();
    }

    /// Anything may be missing here: reading goes on at the next line that is one beyond doubt.
    pub fn lose_place<L: Listener>(&mut self, at_ns: i64, listener: &mut L) -> Result<(), L::Error> {
        if !self.buffer.is_empty() {
            if self.content == Content::Unknown && is_http(&self.buffer) && UPGRADE.is_match(&self.buffer) {
                self.upgrade(at_ns, b"", false);
                return Ok(());
            }
            self.forget();
        }
        (self.left, self.wanted, self.searched) = (0, 0, 0);
        if self.synced {
            self.resyncs += 1;
        }
        (self.synced, self.fresh) = (false, false);
        listener.missed()
    }

    fn upgrade(&mut self, at_ns: i64, rest: &[u8], synced: bool) {
        self.give_up(Content::WebSocket);
        self.upgrade = Some(Upgrade { at_ns, rest: rest.to_vec(), synced });
    }

    /// Overwritten first: CONNECT carries secrets.
    fn forget(&mut self) {
        self.buffer.fill(0);
        self.buffer.clear();
    }

    /// Everything that is whole, from `at`. Returns how many bytes are done with.
    fn read<L: Listener>(
        &mut self,
        at_ns: i64,
        text: &[u8],
        mut at: usize,
        listener: &mut L,
    ) -> Result<usize, L::Error> {
        while at < text.len() && self.readable {
            let next = if self.left > 0 {
                self.read_body(at_ns, text, at, listener)?
            } else if self.synced {
                let Some(end) = end_of_line(text, at) else {
                    self.judge_beginning(at_ns, text, at);
                    break;
                };
                let words = Words::of(&text[at..end]);
                let verb = words.get(0).and_then(Verb::of);
                match verb {
                    Some(verb) if verb.fewest_words().is_some() => {
                        Some(self.read_message(at_ns, text, end + END_OF_LINE, (verb, words), listener)?)
                    }
                    _ => self.read_line(at_ns, text, at, end, listener)?,
                }
            } else {
                self.find_line(at_ns, text, at)
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(if self.readable { at } else { text.len() })
    }

    /// Past the body, or as much of it as is there.
    fn read_body<L: Listener>(
        &mut self,
        at_ns: i64,
        text: &[u8],
        at: usize,
        listener: &mut L,
    ) -> Result<Next, L::Error> {
        let (there, left) = (text.len() - at, self.left);
        if self.wanted > 0 {
            if there < self.wanted {
                return Ok(None);
            }
            let wanted = take(&mut self.wanted);
            listener.body(at_ns, &text[at..at + wanted])?;
        }
        if there < left {
            let used = there.min(left - END_OF_LINE.min(left));
            if used == 0 {
                return Ok(None);
            }
            self.left = left - used;
            return Ok(Some(at + used));
        }
        self.left = 0;
        if left >= END_OF_LINE && &text[at + left - 2..at + left] != b"\r\n" {
            self.bad_line();
        }
        Ok(Some(at + left))
    }

    /// A line that is none of a message, unless its verb is not in capitals.
    fn read_line<L: Listener>(
        &mut self,
        at_ns: i64,
        text: &[u8],
        at: usize,
        end: usize,
        listener: &mut L,
    ) -> Result<Next, L::Error> {
        let line = strip(&text[at..end]);
        let words = Words::of(line);
        let word = words.get(0).unwrap_or(b"");
        let behind = end + END_OF_LINE;
        if let Some(verb) = Verb::of(&word.to_ascii_uppercase()) {
            if verb.fewest_words().is_some() {
                return Ok(Some(self.read_message(at_ns, text, behind, (verb, words), listener)?));
            }
            self.understood();
            listener.line(at_ns, verb, strip(&line[word.len()..]))?;
        } else if self.is_unfinished_http(text, at) {
            return Ok(None);
        } else if !self.judge_beginning(at_ns, text, at) {
            self.bad_line();
        }
        Ok(Some(behind))
    }

    /// A message whose body begins at `start`. Returns where to go on: behind it when all of it is there.
    fn read_message<L: Listener>(
        &mut self,
        at_ns: i64,
        text: &[u8],
        start: usize,
        (verb, mut words): (Verb, Words<'_>),
        listener: &mut L,
    ) -> Result<usize, L::Error> {
        let length = digits(words.pop(), MOST_DIGITS);
        let (Some(length), true) = (length, words.count >= verb.fewest_words().unwrap_or(2)) else {
            self.bad_line();
            return Ok(start);
        };
        let mut header_length = 0;
        if verb.has_headers() {
            match digits(words.pop(), MOST_DIGITS) {
                Some(found) if found <= length => header_length = found as usize,
                _ => {
                    self.bad_line();
                    return Ok(start);
                }
            }
        }
        let length = length as usize;
        self.understood();
        let wanted = listener.message(at_ns, verb, &words, header_length, length)?;
        let end = start + length;
        if text.get(end..end + END_OF_LINE) == Some(b"\r\n") {
            if wanted > 0 && length > 0 {
                listener.body(at_ns, &text[start..end.min(start + wanted)])?;
            }
            return Ok(end + END_OF_LINE);
        }
        self.left = length + END_OF_LINE;
        if wanted > 0 {
            self.wanted = wanted.min(length);
        }
        Ok(start)
    }

    /// To the next line that is one beyond doubt.
    fn find_line(&mut self, at_ns: i64, text: &[u8], at: usize) -> Next {
        if self.judge_beginning(at_ns, text, at) {
            return None;
        }
        if let Some(found) = line_in(text, at) {
            self.synced = true;
            return Some(found);
        }
        let spare = (text.len() - at).checked_sub(SEARCHED_AGAIN).filter(|&spare| spare > 0)?;
        self.searched += spare;
        if self.searched > GIVE_UP_BYTES && self.content == Content::Unknown {
            self.give_up(Content::Other);
        }
        Some(at + spare)
    }

    /// Whether what stands here tells that it is not to be read as NATS.
    fn judge_beginning(&mut self, at_ns: i64, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        let unknown = self.content == Content::Unknown;
        if !FOREIGN_LETTERS.contains(&rest[0]) {
            let stray = unknown && self.is_stray(rest);
            if stray {
                self.give_up(Content::Other);
            }
            return stray;
        }
        let content = if is_tls(rest) && (self.synced || unknown) {
            Content::Tls
        } else if rest.starts_with(b"\xff\x06\x00\x00S2sTwO") || rest.starts_with(b"\xff\x06\x00\x00sNaPpY") {
            Content::S2
        } else if self.is_unfinished_http(text, at) {
            return false;
        } else if unknown && is_http(rest) {
            let end = memmem::find(rest, b"\r\n\r\n");
            if let Some(end) = end
                && UPGRADE.is_match(&rest[..end + END_OF_LINE])
            {
                self.upgrade(at_ns, &rest[end + 4..], true);
                return true;
            }
            Content::Other
        } else if unknown && self.is_stray(rest) {
            Content::Other
        } else {
            return false;
        };
        self.give_up(content);
        true
    }

    /// Whether the headers of an HTTP request or response go on in the next segment.
    fn is_unfinished_http(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        if self.content != Content::Unknown || rest.len() > LONGEST_LINE {
            return false;
        }
        let begins =
            [&b"GET "[..], b"HTTP/1."].iter().any(|first| first.starts_with(&rest[..rest.len().min(first.len())]));
        begins && memmem::find(rest, b"\r\n\r\n").is_none()
    }

    fn is_stray(&self, rest: &[u8]) -> bool {
        (self.fresh && !FIRST_LETTERS.contains(&rest[0])) || rest.len() > LONGEST_LINE
    }

    fn understood(&mut self) {
        self.content = Content::Nats;
        self.bad_row = 0;
    }

    fn bad_line(&mut self) {
        self.bad_lines += 1;
        self.bad_row += 1;
        self.synced = false;
        self.searched = 0;
        if self.content == Content::Unknown && (self.fresh || self.bad_row >= GIVE_UP_LINES) {
            self.give_up(Content::Other);
        }
    }
}

fn end_of_line(text: &[u8], at: usize) -> Option<usize> {
    let line = &text[at..text.len().min(at + LONGEST_LINE)];
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\r', &line[from..]) {
        from += found + 1;
        if line.get(from) == Some(&b'\n') {
            return Some(at + from - 1);
        }
    }
    None
}

fn is_tls(text: &[u8]) -> bool {
    matches!(text, [0x14..=0x17, 3, 0..=4, ..])
}

/// The first line of an HTTP request or response.
fn is_http(text: &[u8]) -> bool {
    let (rest, most) = if let Some(rest) = text.strip_prefix(b"GET ") {
        (rest, 2048)
    } else {
        let digits = text.get(9..12).is_some_and(|code| code.iter().all(u8::is_ascii_digit));
        let version = text.starts_with(b"HTTP/1.0 ") || text.starts_with(b"HTTP/1.1 ");
        if !(version && digits) {
            return false;
        }
        (&text[12..], 256)
    };
    let size = rest.iter().take(most + 1).take_while(|&&byte| byte != b'\r' && byte != b'\n').count();
    size <= most && rest[size..].starts_with(b"\r\n")
}

/// Where the first line beyond doubt begins: with the text or behind CRLF.
fn line_in(text: &[u8], at: usize) -> Option<usize> {
    if at == 0 && is_line(text) {
        return Some(0);
    }
    let mut from = at.saturating_sub(END_OF_LINE);
    while let Some(found) = memmem::find(&text[from..], b"\r\n") {
        from += found + END_OF_LINE;
        if is_line(&text[from..]) {
            return Some(from);
        }
    }
    None
}

fn is_line(text: &[u8]) -> bool {
    let size =
        text.iter().take(8).take_while(|&&byte| byte.is_ascii_alphabetic() || byte == b'+' || byte == b'-').count();
    let Some(verb) = Verb::of(&text[..size].to_ascii_uppercase()) else { return false };
    let rest = &text[size..];
    let lead = rest.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
    match verb {
        Verb::Info | Verb::Connect => lead > 0 && rest.get(lead) == Some(&b'{'),
        Verb::Err => lead > 0 && rest.get(lead) == Some(&b'\''),
        Verb::Ping | Verb::Pong | Verb::Ok => rest[lead..].starts_with(b"\r\n"),
        _ => {
            let Some(size) = memchr::memchr2(b'\r', b'\n', rest) else { return false };
            if lead == 0 || !rest[size..].starts_with(b"\r\n") {
                return false;
            }
            let line = &rest[..size];
            if verb.fewest_words().is_none() {
                return has_words(line, lead);
            }
            let line =
                &line[..line.len() - line.iter().rev().take_while(|&&byte| byte == b' ' || byte == b'\t').count()];
            let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let Some(gap) = (line.len() - digits).checked_sub(1) else { return false };
            digits > 0 && matches!(line[gap], b' ' | b'\t') && has_words(&line[..gap], lead)
        }
    }
}

/// Blanks, and behind them 1 to 4,096 bytes, which may be blanks as well.
fn has_words(line: &[u8], lead: usize) -> bool {
    line.len() >= 2 && line.len() - lead.min(line.len() - 1) <= LONGEST_WORDS
}

#[cfg(test)]
mod tests {
    use super::{is_http, is_line};

    #[test]
    fn lines_beyond_doubt() {
        for line in [
            "PUB a 3\r\n",
            "pub a  b 12 \t\r\n",
            "INFO {",
            "PING\r\n",
            "+OK \r\n",
            "-ERR 'x",
            "SUB a 1\r\n",
            "RS+ A b\r\n",
            "MSG   1\r\n",
        ] {
            assert!(is_line(line.as_bytes()), "{line:?}");
        }
        for line in [
            "PUB a\r\n",
            "PUB 3\r\n",
            "PUB a 3\n",
            "PUB a 3x\r\n",
            "INFO{",
            "PINGS\r\n",
            "SUB\r\n",
            "SUB \r\n",
            "xPUB a 3\r\n",
        ] {
            assert!(!is_line(line.as_bytes()), "{line:?}");
        }
        assert!(is_line(format!("PUB {} 3\r\n", "a".repeat(4096)).as_bytes()));
        assert!(!is_line(format!("PUB {} 3\r\n", "a".repeat(4097)).as_bytes()));
    }

    #[test]
    fn first_lines_of_http() {
        assert!(is_http(b"GET / HTTP/1.1\r\n") && is_http(b"HTTP/1.1 101 Switching\r\n"));
        assert!(!is_http(b"HTTP/2.0 101 x\r\n") && !is_http(b"GET /\n") && !is_http(b"HTTP/1.1 10"));
    }
}
