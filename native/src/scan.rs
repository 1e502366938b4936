//! Scans blocks of whole lines: one pass for lines, stamps, levels, signatures, captured values and counts.
//!
//! A line that is no plain line of a server (wrapped, JSON, a section header, a panic), and one with a signature that
//! Python wants to see, is handed to the host in its place, so that what the host knows is always that of the lines
//! before.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::counts::{Captured, Counts, Key, Line, Run};
use crate::measure::{Measure, measured};
use crate::pack;
use crate::segments::Segments;
use crate::shape::Matched;
use crate::signatures::{DEBUG, ERROR, FATAL, LEVELS, WARNING, LevelSet, Signatures};
use crate::stamp::{self, STAMP};

/// Patterns see so much of a message.
const TEXT_CAP: usize = 2048;
/// So much is kept of a captured value.
const VALUE_CAP: usize = 256;
/// Only so much of a line is looked at.
const LINE_CAP: usize = 16 * 1024;
const QUARTER_US: i64 = 900_000_000;
const QUIET_WITHIN: usize = 150;
/// Counts leave in runs when they take so much: few enough to be near the processor while they are put in order.
const COUNTED_BYTES: usize = 4 << 20;
const KNOWN_BYTES: usize = 8 << 20;
const KNOWN_AROUND: usize = 200;
const REFUSED: u32 = 100_000;
const WINDOW: u32 = 1 << 18;
const TRIED: u32 = 20_000;
const PREFIXES: usize = 10_000;

/// A line of the block for the host.
pub struct Odd {
    pub begin: usize,
    pub end: usize,
    /// Where the stamp stands in the block, where the line has one.
    pub stamp: Option<usize>,
    pub us: i64,
    /// The number of the source of a plain line, or -1.
    pub source: i32,
    /// The last line that was counted: its offset, its time as the server wrote it, its source or -1.
    pub last: (u64, i64, i32),
}

/// What the host says of a line that it was handed.
pub struct Reply {
    /// Others may speak with the same prefixes from here on.
    pub renamed: bool,
    /// The line does not count for the clock.
    pub skip: bool,
    /// Cuts of the block so far, one at this line included.
    pub cuts: u32,
}

/// Who knows all that is not in the lines themselves.
pub trait Host {
    type Error;
    /// The number of the source that writes with this prefix: nothing, or a process id.
    fn source(&mut self, prefix: &[u8]) -> Result<i32, Self::Error>;
    /// The number of the process that writes with any prefix, from 1; 0: none that can be told.
    fn voice(&mut self, prefix: &[u8]) -> Result<u32, Self::Error>;
    /// How far local time is ahead of UTC in a quarter of an hour.
    fn offset_us(&mut self, quarter: i64) -> Result<i64, Self::Error>;
    fn measured(&mut self, value: &str) -> Result<Option<i64>, Self::Error>;
    fn read_line(&mut self, line: Odd) -> Result<Reply, Self::Error>;
}

enum Act {
    Done,
    /// The host has to look at the line.
    Ask,
}

struct Known {
    text: Box<[u8]>,
    source: u32,
    hits: Vec<KnownHit>,
}

/// The number of a count, and what the line captured.
struct KnownHit {
    count: u32,
    others: Box<[u8]>,
    measures: Box<[(u16, i64)]>,
}

/// The scan of one part. `lines`, `long_lines` and `segments` are of the last block.
pub struct Scan {
    signatures: Arc<Signatures>,
    zoned: bool,
    starts: Vec<usize>,
    pub long_lines: u64,
    pub segments: Segments,
    reader: stamp::Reader,
    column: usize,
    prefix: Vec<u8>,
    fresh: bool,
    source: i32,
    voice: u32,
    sources: HashMap<Vec<u8>, i32>,
    voices: HashMap<Vec<u8>, u32>,
    quarter: Option<(i64, i64)>,
    offsets: HashMap<i64, i64>,
    counts: Counts,
    seed: usize,
    known: FxHashMap<u64, u32>,
    texts: Vec<Known>,
    known_bytes: usize,
    refused: u32,
    asked: u32,
    /// The last line that was looked at has no signature.
    untold: bool,
    heard: u32,
    last: (u64, i64, i32),
    candidates: Vec<u16>,
    locations: Vec<Option<regex::bytes::CaptureLocations>>,
    /// Where the groups of the last pattern are.
    groups: Vec<Option<Range<usize>>>,
    found: Found,
}

/// What the signatures of one line captured, one behind the other.
#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    subjects: Vec<u8>,
    packed_subjects: Vec<u8>,
    others: Vec<u8>,
    measures: Vec<(u16, i64)>,
}

struct Hit {
    signature: u16,
    subject: Range<usize>,
    packed_subject: Range<usize>,
    others: Range<usize>,
    measures: Range<usize>,
}

impl Found {
    fn clear(&mut self) {
        self.hits.clear();
        self.subjects.clear();
        self.packed_subjects.clear();
        self.others.clear();
        self.measures.clear();
    }

    fn key(&self, hit: &Hit, source: u32) -> Key<'_> {
        Key {
            signature: hit.signature,
            source,
            subject: &self.subjects[hit.subject.clone()],
            packed_subject: &self.packed_subjects[hit.packed_subject.clone()],
        }
    }

    fn captured(&self, hit: &Hit) -> Captured<'_> {
        Captured { others: &self.others[hit.others.clone()], measures: &self.measures[hit.measures.clone()] }
    }
}

/// A plain line of a server, from its level on.
struct Plain<'a> {
    line: &'a [u8],
    text: &'a [u8],
    message: &'a [u8],
    us: i64,
    offset: u64,
    number: u64,
}

impl Scan {
    pub fn new(signatures: Arc<Signatures>, zoned: bool) -> Self {
        let locations = signatures.all.iter().map(|_| None).collect();
        Self {
            signatures,
            zoned,
            starts: vec![],
            long_lines: 0,
            segments: Segments::default(),
            reader: stamp::Reader::default(),
            column: 0,
            prefix: vec![],
            fresh: true,
            source: -1,
            voice: 0,
            sources: HashMap::new(),
            voices: HashMap::new(),
            quarter: None,
            offsets: HashMap::new(),
            counts: Counts::new(),
            seed: RandomState::new().hash_one(0u8) as usize,
            known: FxHashMap::default(),
            texts: vec![],
            known_bytes: 0,
            refused: 0,
            asked: 0,
            untold: false,
            heard: 0,
            last: (0, 0, -1),
            candidates: vec![],
            locations,
            groups: vec![],
            found: Found::default(),
        }
    }

    /// Lines of the last block.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The number, from 0, of the line of the last block that starts here.
    pub fn number(&self, start: usize) -> usize {
        self.starts.partition_point(|known| *known < start)
    }

    /// Whether it is time to let go of what was counted.
    pub fn is_full(&self) -> bool {
        self.counts.size() > COUNTED_BYTES
    }

    /// Lets go of all that was counted; see `Counts::runs`.
    pub fn runs(&mut self, sources: &[Vec<u8>], take: &mut impl FnMut(Run<'_>)) {
        self.forget();
        self.counts.runs(&self.signatures.all, sources, self.zoned, take);
    }

    fn forget(&mut self) {
        self.known.clear();
        self.texts.clear();
        (self.known_bytes, self.refused) = (0, 0);
    }

    /// Scan whole lines. `base` is the offset of the first byte, `before` the lines of the part so far.
    pub fn block<H: Host>(&mut self, block: &[u8], base: u64, before: u64, host: &mut H) -> Result<(), H::Error> {
        self.starts.clear();
        self.long_lines = 0;
        self.segments = Segments::default();
        let mut cuts = 0;
        let mut begin = 0;
        let signatures = Arc::clone(&self.signatures); // for each line it would be noticed
        let open = if block.is_empty() || block.ends_with(b"\n") { None } else { Some(block.len()) };
        for end in memchr::memchr_iter(b'\n', block).chain(open) {
            let line = &block[begin..end];
            self.long_lines += u64::from(line.len() > LINE_CAP);
            let found = self.stamped(line);
            if let Some((column, _)) = found {
                self.speaks(&line[..column], host)?;
            }
            let number = before + self.starts.len() as u64;
            let act = match found {
                Some((column, us)) if self.source >= 0 => {
                    self.plain(&signatures, line, column, us, base + begin as u64, number, host)?
                }
                Some((column, _)) if is_quiet(line, column) => self.quiet(block, begin, end, column),
                _ => self.odd(block, begin, end),
            };
            let mut skip = false;
            if matches!(act, Act::Ask) {
                let reply = host.read_line(Odd {
                    begin,
                    end,
                    stamp: found.map(|(column, _)| begin + column),
                    us: found.map_or(0, |(_, us)| us),
                    source: if found.is_some() { self.source } else { -1 },
                    last: self.last,
                })?;
                (skip, cuts) = (reply.skip, reply.cuts);
                if reply.renamed {
                    self.sources.clear();
                    self.fresh = true;
                }
            }
            if let Some((_, us)) = found
                && !skip
                && self.voice != 0
            {
                self.segments.add(self.voice, cuts, us, begin);
            }
            self.starts.push(begin);
            begin = end + 1;
        }
        Ok(())
    }

    /// The column of the server's stamp, and the time that it tells.
    #[inline(always)]
    fn stamped(&mut self, line: &[u8]) -> Option<(usize, i64)> {
        let column = stamp::find_shape(line, self.column)?;
        let us = self.reader.microseconds(&line[column..column + STAMP])?;
        if column < STAMP {
            self.column = column;
        }
        Some((column, us))
    }

    /// Note who writes a line with a stamp, by what stands before that.
    #[inline(always)]
    fn speaks<H: Host>(&mut self, prefix: &[u8], host: &mut H) -> Result<(), H::Error> {
        if prefix == self.prefix && !self.fresh {
            return Ok(());
        }
        self.speaks_anew(prefix, host)
    }

    fn speaks_anew<H: Host>(&mut self, prefix: &[u8], host: &mut H) -> Result<(), H::Error> {
        self.prefix.clear();
        self.prefix.extend_from_slice(prefix);
        self.fresh = false;
        self.source = match self.sources.get(prefix) {
            _ if !is_process(prefix) => -1,
            Some(known) => *known,
            None => {
                let source = host.source(prefix)?;
                if self.sources.len() >= PREFIXES {
                    self.sources.clear();
                }
                self.sources.insert(prefix.to_vec(), source);
                source
            }
        };
        self.voice = match self.voices.get(prefix) {
            Some(known) => *known,
            None => {
                let voice = host.voice(prefix)?;
                if self.voices.len() >= PREFIXES {
                    self.voices.clear();
                }
                self.voices.insert(prefix.to_vec(), voice);
                voice
            }
        };
        Ok(())
    }

    /// A line that has no plain header: the host looks at it if it has a literal.
    fn odd(&self, block: &[u8], begin: usize, end: usize) -> Act {
        let from = begin.saturating_sub(1);
        let found = self.signatures.lines.find(&block[from..end]).is_some_and(|found| {
            let at = from + found.start();
            at + usize::from(block[at] == b'\n') - begin < LINE_CAP
        });
        if found || (begin == 0 && self.signatures.beginnings.iter().any(|text| block[..end].starts_with(text))) {
            Act::Ask
        } else {
            Act::Done
        }
    }

    /// A wrapped line of DBG or TRC: few literals count there, as those quote what clients send.
    fn quiet(&self, block: &[u8], begin: usize, end: usize, column: usize) -> Act {
        let opened = block[begin..end].get(column + STAMP + 4..).unwrap_or_default();
        if self.signatures.openings.iter().any(|opening| opened.starts_with(opening)) {
            return Act::Ask;
        }
        let near = self.signatures.quiet.as_ref().and_then(|quiet| quiet.find(&block[begin..end]));
        if near.is_some_and(|found| found.start() < LINE_CAP) { Act::Ask } else { Act::Done }
    }

    /// A line with nothing but a process id, if anything, before its stamp.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn plain<H: Host>(
        &mut self,
        signatures: &Signatures,
        line: &[u8],
        column: usize,
        us: i64,
        offset: u64,
        number: u64,
        host: &mut H,
    ) -> Result<Act, H::Error> {
        let from = column + STAMP;
        let text = &line[from..line.len().min(from + TEXT_CAP + 64)];
        let Some((level, at)) = level_of(text) else {
            return Ok(if signatures.lines.is_match(line) { Act::Ask } else { Act::Done });
        };
        if level == FATAL {
            return Ok(Act::Ask);
        }
        let mut message = &text[at..text.len().min(at + TEXT_CAP)];
        while let Some(shorter) = message.strip_suffix(b"\r") {
            message = shorter;
        }
        let set = &signatures.levels[level];
        let opened = set.may_be_opened(message);
        // Where most lines are known, to look them up is quicker than to search them.
        let searched = level >= DEBUG || 4 * self.heard <= self.asked;
        // What no signature wants is counted by Python, where it is a warning or an error.
        let otherwise = if level == WARNING || level == ERROR { Act::Ask } else { Act::Done };
        if !opened && searched && !set.has_literal(message) {
            return Ok(otherwise);
        }
        let act = self.told(signatures, set, &Plain { line, text, message, us, offset, number }, host)?;
        Ok(if let Act::Done = act && self.untold { otherwise } else { act })
    }

    fn told<H: Host>(
        &mut self,
        signatures: &Signatures,
        set: &LevelSet,
        plain: &Plain<'_>,
        host: &mut H,
    ) -> Result<Act, H::Error> {
        let source = self.source as u32;
        self.asked += 1;
        if self.asked > WINDOW {
            (self.asked, self.heard) = (1, 0);
        }
        let us = self.utc_us(plain.us, host)?;
        let line = Line { us, offset: plain.offset, number: plain.number, text: plain.line };
        let key = self.lines_repeat().then(|| self.key_of(plain.text, source));
        if let Some(known) = key.and_then(|key| self.known.get(&key)).map(|number| &self.texts[*number as usize])
            && known.source == source
            && *known.text == *plain.text
        {
            self.heard += 1;
            self.untold = known.hits.is_empty();
            for hit in &known.hits {
                self.counts.add(hit.count, line, Captured { others: &hit.others, measures: &hit.measures });
            }
            if !known.hits.is_empty() {
                self.last = (plain.offset, plain.us, self.source);
            }
            return Ok(Act::Done);
        }
        self.candidates.clear();
        set.add_by_opening(plain.message, &mut self.candidates);
        set.add_by_literal(plain.message, &mut self.candidates);
        self.candidates.sort_unstable();
        self.candidates.dedup();
        self.found.clear();
        for place in 0..self.candidates.len() {
            if let Act::Ask = self.look(signatures, self.candidates[place], plain.message, host)? {
                return Ok(Act::Ask); // nothing of this line is counted yet
            }
        }
        let learnt = key.filter(|_| self.learns());
        let mut hits = Vec::with_capacity(if learnt.is_some() { self.found.hits.len() } else { 0 });
        for hit in &self.found.hits {
            let captured = self.found.captured(hit);
            let count = self.counts.count(self.found.key(hit, source), line, captured);
            if learnt.is_some() {
                hits.push(KnownHit { count, others: captured.others.into(), measures: captured.measures.into() });
            }
        }
        self.untold = self.found.hits.is_empty();
        if !self.untold {
            self.last = (plain.offset, plain.us, self.source);
        }
        if let Some(key) = learnt {
            self.learn(key, plain.text, source, hits);
        }
        Ok(Act::Done)
    }

    /// Whether lines come again; where hardly any does, to look them up takes longer than it saves.
    fn lines_repeat(&self) -> bool {
        self.asked <= TRIED || 16 * self.heard >= self.asked
    }

    fn key_of(&self, text: &[u8], source: u32) -> u64 {
        let mut hasher = FxHasher::with_seed(self.seed);
        hasher.write(text);
        hasher.write_u32(source);
        hasher.finish()
    }

    /// Whether one more text can be remembered.
    fn learns(&mut self) -> bool {
        if self.known_bytes <= KNOWN_BYTES {
            return true;
        }
        self.refused += 1;
        if self.refused > REFUSED {
            self.forget();
        }
        false
    }

    fn learn(&mut self, key: u64, text: &[u8], source: u32, hits: Vec<KnownHit>) {
        let captured: usize = hits.iter().map(|hit| hit.others.len()).sum();
        self.known_bytes += text.len() + captured + KNOWN_AROUND;
        self.known.insert(key, self.texts.len() as u32);
        self.texts.push(Known { text: text.into(), source, hits });
    }

    /// Adds what a signature finds in a message. `Ask`: the host has to look at the whole line.
    fn look<H: Host>(
        &mut self,
        signatures: &Signatures,
        number: u16,
        message: &[u8],
        host: &mut H,
    ) -> Result<Act, H::Error> {
        let signature = &signatures.all[usize::from(number)];
        if signature.contains.find(message).is_none() {
            return Ok(Act::Done);
        }
        let by_shape = signature.shape.as_ref().map(|shape| shape.matches(message, &mut self.groups));
        match by_shape {
            Some(Matched::Yes) => {}
            Some(Matched::No) => return Ok(Act::Done),
            Some(Matched::Unknown) | None => {
                let Some(regex) = signature.regex() else { return Ok(Act::Ask) };
                let locations = self.locations[usize::from(number)].get_or_insert_with(|| regex.capture_locations());
                if regex.captures_read(locations, message).is_none() {
                    return Ok(Act::Done);
                }
                self.groups.clear();
                self.groups.extend((1..locations.len()).map(|group| locations.get(group).map(|(from, to)| from..to)));
            }
        }
        if signature.marked {
            return Ok(Act::Ask);
        }
        let found = &mut self.found;
        let (subject, packed) = (found.subjects.len(), found.packed_subjects.len());
        let (others, measures) = (found.others.len(), found.measures.len());
        let fields = &signature.fields[..signature.fields.len().min(self.groups.len())];
        pack::array(&mut found.packed_subjects, fields.iter().filter(|field| field.subject).count());
        pack::array(&mut found.others, fields.iter().filter(|field| field.other).count());
        for (group, field) in self.groups.iter().zip(fields) {
            let raw = group.clone().map_or(&b""[..], |place| &message[place]);
            let value = pack::lossy(&raw[..raw.len().min(VALUE_CAP)]);
            if field.numbers_out && !value.is_ascii() {
                return Ok(Act::Ask); // Python knows other digits
            }
            if field.subject {
                let shown = if field.numbers_out { without_numbers(&value).into() } else { value.clone() };
                found.subjects.push(0x1f);
                found.subjects.extend_from_slice(shown.as_bytes());
                pack::text(&mut found.packed_subjects, &shown);
            } else {
                let measure = match measured(&value) {
                    Measure::Number(number) => Some(number),
                    Measure::Nothing => None,
                    Measure::AskPython => host.measured(&value)?,
                };
                found.measures.extend(measure.map(|number| (field.known_as, number)));
            }
            if field.other {
                pack::array(&mut found.others, 2);
                pack::text(&mut found.others, &field.name);
                pack::text(&mut found.others, &value);
            }
        }
        found.hits.push(Hit {
            signature: number,
            subject: subject..found.subjects.len(),
            packed_subject: packed..found.packed_subjects.len(),
            others: others..found.others.len(),
            measures: measures..found.measures.len(),
        });
        Ok(Act::Done)
    }

    #[inline(always)]
    fn utc_us<H: Host>(&mut self, us: i64, host: &mut H) -> Result<i64, H::Error> {
        if !self.zoned {
            return Ok(us);
        }
        let quarter = us.div_euclid(QUARTER_US);
        if let Some((known, offset)) = self.quarter
            && known == quarter
        {
            return Ok(us - offset);
        }
        let offset = match self.offsets.get(&quarter) {
            Some(known) => *known,
            None => {
                let offset = host.offset_us(quarter)?;
                if self.offsets.len() >= PREFIXES {
                    self.offsets.clear();
                }
                self.offsets.insert(quarter, offset);
                offset
            }
        };
        self.quarter = Some((quarter, offset));
        Ok(us - offset)
    }
}

/// The level that a text begins with, by number, and where the message begins. Terminals get levels in colours.
#[inline(always)]
fn level_of(text: &[u8]) -> Option<(usize, usize)> {
    let four = text.first_chunk::<4>()?;
    if let Some(level) = level_number(&four[..3])
        && four[3] == b']'
    {
        return Some((level, 4 + usize::from(text.get(4) == Some(&b' '))));
    }
    level_in_colour(text)
}

fn level_in_colour(text: &[u8]) -> Option<(usize, usize)> {
    let mut rest = text;
    if let Some(colour) = rest.strip_prefix(b"\x1b[") {
        let length = colour.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        rest = colour[length..].strip_prefix(b"m")?;
    }
    let level = level_number(rest.get(..3)?)?;
    rest = &rest[3..];
    rest = rest.strip_prefix(b"\x1b[0m").unwrap_or(rest).strip_prefix(b"]")?;
    rest = rest.strip_prefix(b" ").unwrap_or(rest);
    Some((level, text.len() - rest.len()))
}

#[inline(always)]
fn level_number(name: &[u8]) -> Option<usize> {
    LEVELS.iter().position(|level| name == *level)
}

/// Whether a prefix is nothing, or a process id: `[7119] `.
fn is_process(prefix: &[u8]) -> bool {
    let Some(digits) = prefix.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"] ")) else {
        return prefix.is_empty();
    };
    (1..=10).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a server logged a wrapped line at DBG or TRC, as far as that is seen at a glance.
fn is_quiet(line: &[u8], column: usize) -> bool {
    let level = line.get(column + STAMP..column + STAMP + 4);
    (level == Some(b"DBG]") || level == Some(b"TRC]")) && column < QUIET_WITHIN && line[0] == b'['
}

/// A text with `N` for each run of digits.
fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for character in text.chars() {
        let digit = character.is_ascii_digit();
        if !digit {
            out.push(character);
        } else if !inside {
            out.push('N');
        }
        inside = digit;
    }
    out
}
