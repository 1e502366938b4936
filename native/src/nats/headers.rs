//! Headers of NATS messages: the status line, and those named `Nats-…`.
#![forbid(unsafe_code)]

use memchr::memmem;

use super::words::strip;

const LONGEST_NAME: usize = 40;
const LONGEST_VALUE: usize = 4096;
const LONGEST_DESCRIPTION: usize = 256;

/// Code and description of a message that is only a status; code 0 for any other.
pub fn status(headers: &[u8]) -> (u16, &[u8]) {
    let none: (u16, &[u8]) = (0, &[]);
    let Some(rest) = headers.strip_prefix(b"NATS/1.0") else { return none };
    let behind = without_blanks(rest);
    if behind.len() == rest.len() || behind.len() < 3 || !behind[..3].iter().all(u8::is_ascii_digit) {
        return none;
    }
    let code = behind[..3].iter().fold(0, |code, &digit| code * 10 + u16::from(digit - b'0'));
    let rest = &behind[3..];
    let words = without_blanks(rest);
    if words.len() == rest.len() {
        return (code, &[]);
    }
    (code, strip(value(words, LONGEST_DESCRIPTION)))
}

/// All headers named `Nats-…` as they come; of each name the first one counts.
pub fn nats_headers(headers: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = memmem::find(headers.get(at..)?, b"\r\nNats-") {
            let begins = at + found + 2;
            at = begins - 1;
            let letters = &headers[begins + 5..];
            let size = letters.iter().take_while(|&&byte| byte.is_ascii_alphabetic() || byte == b'-').count();
            if size == 0 || size > LONGEST_NAME || letters.get(size) != Some(&b':') {
                continue;
            }
            let name = &headers[begins..begins + 5 + size];
            let found = value(without_blanks(&letters[size + 1..]), LONGEST_VALUE);
            at = headers.len() - letters.len() + size + 1;
            return Some((name, strip(found)));
        }
        None
    })
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
    &text[blanks..]
}

fn value(text: &[u8], most: usize) -> &[u8] {
    let size = text.iter().take(most).take_while(|&&byte| byte != b'\r' && byte != b'\n').count();
    &text[..size]
}
