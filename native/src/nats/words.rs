//! Words of a line as Python's `bytes.split` sees them.
#![forbid(unsafe_code)]

const fn blanks() -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 9;
    while at < 14 {
        table[at] = true;
        at += 1;
    }
    table[32] = true;
    table
}

static BLANK: [bool; 256] = blanks();

#[inline(always)]
pub fn is_blank(byte: u8) -> bool {
    BLANK[byte as usize]
}

pub fn strip(text: &[u8]) -> &[u8] {
    let Some(start) = text.iter().position(|&byte| !is_blank(byte)) else { return &[] };
    let end = text.iter().rposition(|&byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// A whole number of at most `most` digits.
pub fn digits(word: &[u8], most: usize) -> Option<u64> {
    if word.is_empty() || word.len() > most {
        return None;
    }
    let mut number = 0u64;
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

const KEPT: usize = 6;

/// The first words, and the last two of all.
pub struct Words<'a> {
    first: [&'a [u8]; KEPT],
    pub count: usize,
    last: &'a [u8],
    before_last: &'a [u8],
}

impl<'a> Words<'a> {
    pub fn of(line: &'a [u8]) -> Self {
        let mut words = Self { first: [&[]; KEPT], count: 0, last: &[], before_last: &[] };
        let (mut at, size) = (0, line.len());
        loop {
            while at < size && is_blank(line[at]) {
                at += 1;
            }
            if at == size {
                return words;
            }
            let start = at;
            while at < size && !is_blank(line[at]) {
                at += 1;
            }
            let word = &line[start..at];
            if words.count < KEPT {
                words.first[words.count] = word;
            }
            words.before_last = words.last;
            words.last = word;
            words.count += 1;
        }
    }

    /// Takes the last word away; at most twice.
    pub fn pop(&mut self) -> &'a [u8] {
        let word = self.last;
        self.last = self.before_last;
        self.count = self.count.saturating_sub(1);
        word
    }

    pub fn get(&self, place: usize) -> Option<&'a [u8]> {
        if place < self.count { self.first.get(place).copied() } else { None }
    }

    pub fn last(&self) -> &'a [u8] {
        self.last
    }
}
