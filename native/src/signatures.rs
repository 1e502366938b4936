//! All signatures of an audit, arranged by the level of a line and how its message begins.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind, packed};
use memchr::memmem;
use regex::bytes::{Regex, RegexBuilder};
use rustc_hash::FxHashMap;

use crate::patterns;
use crate::shape::Shape;

/// Levels by number. `FTL` lines go to Python: each of them is told by itself.
pub const LEVELS: [&[u8; 3]; 6] = [b"INF", b"WRN", b"ERR", b"FTL", b"DBG", b"TRC"];
pub const WARNING: usize = 1;
pub const ERROR: usize = 2;
pub const FATAL: usize = 3;
pub const DEBUG: usize = 4;
const REGEX_BYTES: usize = 64 << 20;

/// A field that a signature captures.
pub struct Field {
    pub name: String,
    /// It tells the subject of the line.
    pub subject: bool,
    /// It is kept beside the subject.
    pub other: bool,
    /// Its digits are left out of the subject.
    pub numbers_out: bool,
    /// The number of the first field of this name.
    pub known_as: u16,
}

/// A signature as Python describes it.
pub struct Described {
    pub name: String,
    pub contains: String,
    pub pattern: String,
    /// Name, whether it is of the subject, whether digits are left out of that.
    pub fields: Vec<(String, bool, bool)>,
    /// None: all but `DBG` and `TRC`.
    pub levels: Vec<String>,
    /// A server's line may have it.
    pub server: bool,
    /// Python wants each of its lines.
    pub marked: bool,
}

pub struct Signature {
    pub name: String,
    pub contains: memmem::Finder<'static>,
    pub fields: Vec<Field>,
    pub marked: bool,
    /// Its pattern, where that is of a kind that takes no regex to match.
    pub shape: Option<Shape>,
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl Signature {
    /// Its pattern, compiled when it is first wanted; None: Python has to look.
    pub fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| {
                if patterns::is_foreign(&self.pattern) {
                    return None;
                }
                RegexBuilder::new(&self.pattern).unicode(false).size_limit(REGEX_BYTES).build().ok()
            })
            .as_ref()
    }
}

/// A signature, and all of what its messages begin with.
struct Opened {
    text: Vec<u8>,
    signature: u16,
}

/// The signatures that lines of one level may have.
#[derive(Default)]
pub struct LevelSet {
    /// By the first four bytes of the message.
    by_opening: FxHashMap<u32, Vec<Opened>>,
    /// By a literal anywhere in the message.
    by_literal: Vec<Vec<u16>>,
    literals: Vec<Vec<u8>>,
    quick: Option<packed::Searcher>,
    all: Option<AhoCorasick>,
}

impl LevelSet {
    fn add(&mut self, number: u16, signature: &Described) {
        let opening = patterns::opening(&signature.pattern);
        if let Some(four) = first_four(&opening) {
            self.by_opening.entry(four).or_default().push(Opened { text: opening, signature: number });
            return;
        }
        let literal = signature.contains.as_bytes();
        match self.literals.iter().position(|known| known == literal) {
            Some(known) => self.by_literal[known].push(number),
            None => {
                self.literals.push(literal.to_vec());
                self.by_literal.push(vec![number]);
            }
        }
    }

    fn compile(&mut self) -> Result<(), String> {
        if !self.literals.is_empty() {
            self.quick = packed::Searcher::new(&self.literals);
            self.all = Some(AhoCorasick::new(&self.literals).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Whether there may be signatures of messages that begin so.
    #[inline(always)]
    pub fn may_be_opened(&self, message: &[u8]) -> bool {
        !self.by_opening.is_empty() && first_four(message).is_some_and(|four| self.by_opening.contains_key(&four))
    }

    /// Adds the signatures of messages that begin so.
    pub fn add_by_opening(&self, message: &[u8], found: &mut Vec<u16>) {
        if let Some(opened) = first_four(message).and_then(|four| self.by_opening.get(&four)) {
            found.extend(opened.iter().filter(|one| message.starts_with(&one.text)).map(|one| one.signature));
        }
    }

    /// Whether a message has the literal of another signature.
    #[inline(always)]
    pub fn has_literal(&self, message: &[u8]) -> bool {
        match (&self.quick, &self.all) {
            (Some(quick), _) => quick.find(message).is_some(),
            (None, Some(all)) => all.is_match(message),
            (None, None) => false,
        }
    }

    /// Adds the signatures whose literals a message has, some perhaps twice.
    pub fn add_by_literal(&self, message: &[u8], found: &mut Vec<u16>) {
        if let Some(all) = &self.all
            && self.has_literal(message)
        {
            for hit in all.find_overlapping_iter(message) {
                found.extend(&self.by_literal[hit.pattern().as_usize()]);
            }
        }
    }
}

#[inline(always)]
fn first_four(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<4>().map(|four| u32::from_le_bytes(*four))
}

pub struct Signatures {
    pub all: Vec<Signature>,
    pub levels: [LevelSet; 6],
    /// Literals of signatures and section headers in lines of any kind; some begin with the line break before.
    pub lines: AhoCorasick,
    /// What begins a line, without that line break.
    pub beginnings: Vec<Vec<u8>>,
    /// Literals that count in a wrapped server's DBG and TRC.
    pub quiet: Option<AhoCorasick>,
    /// What of these begins at the level's bracket.
    pub openings: Vec<Vec<u8>>,
}

impl Signatures {
    pub fn new(
        described: Vec<Described>,
        lines: &[Vec<u8>],
        beginnings: Vec<Vec<u8>>,
        quiet: &[Vec<u8>],
        openings: Vec<Vec<u8>>,
    ) -> Result<Self, String> {
        let count = u16::try_from(described.len()).map_err(|_| "too many signatures".to_owned())?;
        let mut levels: [LevelSet; 6] = Default::default();
        for (number, signature) in (0..count).zip(&described) {
            for (level, set) in levels.iter_mut().enumerate() {
                if signature.server && wanted(signature, level) {
                    set.add(number, signature);
                }
            }
        }
        for set in &mut levels {
            set.compile()?;
        }
        Ok(Self {
            all: described.into_iter().map(signature).collect(),
            levels,
            lines: leftmost(lines)?,
            beginnings,
            quiet: if quiet.is_empty() { None } else { Some(leftmost(quiet)?) },
            openings,
        })
    }
}

fn wanted(signature: &Described, level: usize) -> bool {
    match signature.levels.as_slice() {
        [] => level < DEBUG,
        levels => levels.iter().any(|name| name.as_bytes() == LEVELS[level]),
    }
}

fn signature(described: Described) -> Signature {
    let names: Vec<String> = described.fields.iter().map(|field| field.0.clone()).collect();
    let fields = described.fields.into_iter().map(|(name, subject, numbers_out)| Field {
        known_as: names.iter().position(|known| *known == name).unwrap_or(0) as u16,
        other: !subject || numbers_out,
        subject,
        numbers_out,
        name,
    });
    Signature {
        contains: memmem::Finder::new(described.contains.as_bytes()).into_owned(),
        fields: fields.collect(),
        name: described.name,
        marked: described.marked,
        shape: Shape::of(&described.pattern).filter(|_| !patterns::is_foreign(&described.pattern)),
        pattern: described.pattern,
        regex: OnceLock::new(),
    }
}

fn leftmost(literals: &[Vec<u8>]) -> Result<AhoCorasick, String> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(literals).map_err(|error| error.to_string())
}
