//! Matches the patterns that most signatures have: from the beginning on, fixed text and runs of bytes of one class.
//!
//! To tell where the groups of such a pattern are takes a regex engine several times as long.
#![forbid(unsafe_code)]

use std::ops::Range;

/// So often a message is tried from some place; whoever needs more gets a regex, which takes no longer than that.
const STEPS: usize = 200;

/// A pattern without choices, assertions and groups of groups.
pub struct Shape {
    pieces: Vec<Piece>,
}

enum Piece {
    Text(Vec<u8>),
    Run { class: Box<[bool; 256]>, least: usize, lazy: bool, group: bool },
}

#[derive(Debug, PartialEq, Eq)]
pub enum Matched {
    Yes,
    No,
    /// Only a regex can tell.
    Unknown,
}

impl Shape {
    pub fn of(pattern: &str) -> Option<Self> {
        let mut rest = pattern.strip_prefix('^')?.as_bytes();
        let mut pieces = vec![];
        while !rest.is_empty() {
            let inside = rest.strip_prefix(b"(");
            if let Some((class, after)) = class_of(inside.unwrap_or(rest)) {
                let (least, lazy, after) = repeated(after)?;
                pieces.push(Piece::Run { class, least, lazy, group: inside.is_some() });
                rest = if inside.is_some() { after.strip_prefix(b")")? } else { after };
                continue;
            }
            let (byte, after) = literal(rest)?;
            if after.first().is_some_and(|next| b"*+?{".contains(next)) {
                return None;
            }
            match pieces.last_mut() {
                Some(Piece::Text(text)) => text.push(byte),
                _ => pieces.push(Piece::Text(vec![byte])),
            }
            rest = after;
        }
        Some(Self { pieces })
    }

    /// Whether a message matches, and the places of the groups.
    pub fn matches(&self, message: &[u8], groups: &mut Vec<Option<Range<usize>>>) -> Matched {
        groups.clear();
        let mut steps = 0;
        go(&self.pieces, message, 0, groups, &mut steps)
    }
}

/// Tries pieces from a place on, in the order of a regex engine that goes back.
fn go(
    pieces: &[Piece],
    message: &[u8],
    at: usize,
    groups: &mut Vec<Option<Range<usize>>>,
    steps: &mut usize,
) -> Matched {
    *steps += 1;
    if *steps > STEPS {
        return Matched::Unknown;
    }
    let Some((piece, others)) = pieces.split_first() else { return Matched::Yes };
    match piece {
        Piece::Text(text) if message[at..].starts_with(text) => go(others, message, at + text.len(), groups, steps),
        Piece::Text(_) => Matched::No,
        Piece::Run { class, least, lazy, group } => {
            let most = message[at..].iter().take_while(|byte| class[usize::from(**byte)]).count();
            for tried in *least..=most {
                let end = at + if *lazy { tried } else { most - (tried - least) };
                if let Some(Piece::Text(text)) = others.first()
                    && message.get(end) != text.first()
                {
                    continue;
                }
                let known = groups.len();
                if *group {
                    groups.push(Some(at..end));
                }
                match go(others, message, end, groups, steps) {
                    Matched::No => groups.truncate(known),
                    told => return told,
                }
            }
            Matched::No
        }
    }
}

/// A byte of a pattern that stands for itself, and what follows.
fn literal(pattern: &[u8]) -> Option<(u8, &[u8])> {
    match pattern {
        [b'\\', byte, after @ ..] if byte.is_ascii_punctuation() => Some((*byte, after)),
        [b'\\', ..] => None,
        [byte, after @ ..] if !b".[]($)^|*+?{}".contains(byte) => Some((*byte, after)),
        _ => None,
    }
}

/// The bytes of a class, and what follows it.
fn class_of(pattern: &[u8]) -> Option<(Box<[bool; 256]>, &[u8])> {
    let mut class = Box::new([false; 256]);
    match pattern {
        [b'.', after @ ..] => {
            class.fill(true);
            class[usize::from(b'\n')] = false;
            Some((class, after))
        }
        [b'\\', b'd', after @ ..] => {
            class[usize::from(b'0')..=usize::from(b'9')].fill(true);
            Some((class, after))
        }
        [b'\\', b'S', after @ ..] => {
            class.fill(true);
            for space in b" \t\n\x0b\x0c\r" {
                class[usize::from(*space)] = false;
            }
            Some((class, after))
        }
        [b'[', b'^', set @ ..] => {
            class.fill(true);
            Some((listed(set, class, false)?, after_set(set)?))
        }
        [b'[', set @ ..] => Some((listed(set, class, true)?, after_set(set)?)),
        _ => None,
    }
}

/// A class after the bytes that are listed in it. Ranges are of letters and digits.
fn listed(set: &[u8], mut class: Box<[bool; 256]>, member: bool) -> Option<Box<[bool; 256]>> {
    let length = set.len() - after_set(set)?.len() - 1;
    let mut set = &set[..length];
    while let Some((first, after)) = set.split_first() {
        if let [b'-', last, after @ ..] = after {
            if !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() || first > last {
                return None;
            }
            class[usize::from(*first)..=usize::from(*last)].fill(member);
            set = after;
            continue;
        }
        class[usize::from(*first)] = member;
        set = after;
    }
    Some(class)
}

/// What follows the bracket that closes a set; None for sets with other sets, escapes or brackets in them.
fn after_set(set: &[u8]) -> Option<&[u8]> {
    let end = set.iter().position(|byte| b"[]\\^&~".contains(byte))?;
    (end > 0 && set[end] == b']').then(|| &set[end + 1..])
}

/// How often a class is wanted at least, whether as seldom as possible, and what follows.
fn repeated(pattern: &[u8]) -> Option<(usize, bool, &[u8])> {
    let (least, after) = match pattern {
        [b'+', after @ ..] => (1, after),
        [b'*', after @ ..] => (0, after),
        _ => return None,
    };
    match after {
        [b'?', after @ ..] => Some((least, true, after)),
        [b'+' | b'*' | b'{', ..] => None,
        _ => Some((least, false, after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::{Regex, RegexBuilder};

    const PATTERNS: [&str; 10] = [
        "^cluster consumer '([^'>]*) > ([^' ]+) > ([^' ]+)' has NO quorum, stalled",
        "^stream '([^']*?) > ([^']*?)' has high",
        "^a (\\S+) b (\\S+): (.+)",
        "^pending count: (\\d+)",
        "^([a-z ]+) for '([^'>]*)",
        "^(.*) > (.*) > (.*)'",
        "^([ab]+?)([ab]*)([ab]*)b",
        "^[^x]*x([0-9]+)",
        "^ends \\(here\\)",
        "^",
    ];

    fn regex(pattern: &str) -> Regex {
        RegexBuilder::new(pattern).unicode(false).build().expect("a pattern")
    }

    /// What a regex finds.
    fn expected(regex: &Regex, message: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
        let found = regex.captures(message)?;
        Some((1..found.len()).map(|group| found.get(group).map(|one| one.range())).collect())
    }

    #[test]
    fn finds_what_a_regex_finds() {
        let words: [&[u8]; 18] = [
            b"cluster consumer '",
            b"stream '",
            b"a ",
            b" b ",
            b": ",
            b" > ",
            b"'",
            b" has NO quorum, stalled",
            b"x",
            b"7",
            b" has high",
            b"pending count: ",
            b" for '",
            b"aaab",
            b"\xff\xc3",
            b"A",
            b">",
            b"ends (here)",
        ];
        let (mut seed, mut known, mut groups) = (7_u64, 0, vec![]);
        for pattern in PATTERNS {
            let (shape, regex) = (Shape::of(pattern).expect(pattern), regex(pattern));
            for _ in 0..20_000 {
                let mut message = vec![];
                for _ in 0..8 {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    message.extend_from_slice(words[(seed >> 33) as usize % words.len()]);
                }
                match (shape.matches(&message, &mut groups), expected(&regex, &message)) {
                    (Matched::Unknown, _) | (Matched::No, None) => {}
                    (Matched::Yes, Some(expected)) => {
                        assert_eq!(groups, expected, "{pattern}");
                        known += 1;
                    }
                    (told, expected) => panic!("{pattern}: {told:?}, not {expected:?}, for {message:?}"),
                }
            }
        }
        assert!(known > 10_000, "only {known} matched");
    }

    #[test]
    fn leaves_other_patterns_to_a_regex() {
        for pattern in
            ["a", "^a|b", "^(?:a)", "^(a)?", "^a+", "^a$", "^([^]]+)", "^(\\w+)", "^(a|b)", "^([a-z]{2})", "^(a)"]
        {
            assert!(Shape::of(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn gives_up_what_takes_many_steps() {
        let shape = Shape::of("^(.*)a(.*)a(.*)a(.*)b").expect("a shape");
        assert_eq!(shape.matches(&[b'a'; 300], &mut vec![]), Matched::Unknown);
    }
}
