//! Counts lines by signature, subject and who wrote them, and gives them as runs of hits in the order of their keys.
//!
//! Where nearly every line names a subject of its own, nearly every count is of one line: such a one is a few numbers
//! here and its text in one buffer that all share. Only a second line makes a `Tally` of it.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHasher};

use crate::pack;
use crate::signatures::{Field, Signature};

/// First lines kept of each; the last one is kept too, where it is not among them.
pub const FIRSTS: usize = 3;
/// Bytes kept of a line.
const EXCERPT: usize = 512;
pub const MINUTE_US: i64 = 60_000_000;
const COMPACT_SPANS: usize = 4096;
/// A run of hits ends behind the hit that exceeds so many bytes.
const RUN_BYTES: usize = 16 << 10;
/// What a hit is, before what it has: one line, or several.
pub const ONE_LINE: i64 = 1;
pub const SEVERAL_LINES: i64 = 2;

/// A line that is to be counted.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// Microseconds, in UTC where the zone is known.
    pub us: i64,
    pub offset: u64,
    pub number: u64,
    pub text: &'a [u8],
}

/// What a line captured besides its subject: packed fields, and their numbers by field.
#[derive(Clone, Copy)]
pub struct Captured<'a> {
    pub others: &'a [u8],
    pub measures: &'a [(u16, i64)],
}

/// What is counted together. `subject`: its values, each behind a unit separator; `packed_subject`: the same packed.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    pub signature: u16,
    pub source: u32,
    pub subject: &'a [u8],
    pub packed_subject: &'a [u8],
}

/// Hits in the order of their keys: the key and the time of the first, and all of them, packed.
pub struct Run<'a> {
    pub key: &'a str,
    pub first_us: i64,
    pub packed: &'a [u8],
}

/// The first and the last time of a minute, and its lines.
pub type Minute = (i64, i64, i64);

type Span = Range<u32>;

/// Lines of one signature, subject and source.
struct Count {
    signature: u16,
    source: u32,
    subject: Span,
    packed_subject: Span,
    first: First,
    /// All lines, where there are several.
    tally: Option<Box<Tally>>,
}

impl Count {
    /// The time of the first line.
    fn first_us(&self) -> i64 {
        self.tally.as_ref().map_or(self.first.us, |tally| tally.firsts[0].us)
    }
}

/// The first line, of which all else is in the buffers of `Counts`.
struct First {
    us: i64,
    number: u64,
    offset: u64,
    text: Span,
    others: Span,
    measures: Span,
}

/// All counts of a part since it last let go of them.
pub struct Counts {
    all: Vec<Count>,
    bytes: Vec<u8>,
    numbers: Vec<(u16, i64)>,
    index: FxHashMap<u64, u32>,
    collided: HashMap<(u32, u16, Vec<u8>), u32>,
    seed: usize,
}

impl Counts {
    pub fn new() -> Self {
        Self {
            all: vec![],
            bytes: vec![],
            numbers: vec![],
            index: FxHashMap::default(),
            collided: HashMap::new(),
            seed: RandomState::new().hash_one(0u8) as usize,
        }
    }

    /// Bytes that they take, roughly.
    pub fn size(&self) -> usize {
        self.bytes.len() + 16 * self.numbers.len() + self.all.len() * (size_of::<Count>() + 16)
    }

    /// Counts a line; the number of its count.
    pub fn count(&mut self, key: Key<'_>, line: Line<'_>, captured: Captured<'_>) -> u32 {
        let mut hasher = FxHasher::with_seed(self.seed);
        hasher.write(key.subject);
        hasher.write_u32(key.source);
        hasher.write_u16(key.signature);
        let hash = hasher.finish();
        let number = self.all.len() as u32;
        let known = *self.index.entry(hash).or_insert(number);
        if known == number {
            self.begin(key, line, captured);
            return number;
        }
        let count = &self.all[known as usize];
        let same = count.signature == key.signature && count.source == key.source;
        if same && self.bytes[wide(&count.subject)] == *key.subject {
            self.add(known, line, captured);
            return known;
        }
        let known = *self.collided.entry((key.source, key.signature, key.subject.to_vec())).or_insert(number);
        if known == number {
            self.begin(key, line, captured);
        } else {
            self.add(known, line, captured);
        }
        known
    }

    fn begin(&mut self, key: Key<'_>, line: Line<'_>, captured: Captured<'_>) {
        let measures = self.numbers.len() as u32;
        self.numbers.extend_from_slice(captured.measures);
        let count = Count {
            signature: key.signature,
            source: key.source,
            subject: self.keep(key.subject),
            packed_subject: self.keep(key.packed_subject),
            first: First {
                us: line.us,
                number: line.number,
                offset: line.offset,
                text: self.keep(excerpt(line.text)),
                others: self.keep(captured.others),
                measures: measures..self.numbers.len() as u32,
            },
            tally: None,
        };
        self.all.push(count);
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let begin = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len() as u32
    }

    /// Counts one more line of a known count.
    pub fn add(&mut self, number: u32, line: Line<'_>, captured: Captured<'_>) {
        let count = &mut self.all[number as usize];
        let first = &count.first;
        let tally = count.tally.get_or_insert_with(|| {
            let line =
                Line { us: first.us, offset: first.offset, number: first.number, text: &self.bytes[wide(&first.text)] };
            let captured =
                Captured { others: &self.bytes[wide(&first.others)], measures: &self.numbers[wide(&first.measures)] };
            Box::new(Tally::new(line, captured))
        });
        tally.add(line, captured);
    }

    /// Lets go of all counts. Sources are packed, by number.
    pub fn runs(&mut self, signatures: &[Signature], sources: &[Vec<u8>], zoned: bool, take: &mut impl FnMut(Run<'_>)) {
        let mut all = std::mem::take(&mut self.all);
        let mut run = RunWriter::default();
        for number in self.in_order(&all, signatures) {
            let count = &mut all[number as usize];
            let signature = &signatures[usize::from(count.signature)];
            if run.count == 0 {
                run.key = pack::lossy(&self.bytes[wide(&count.subject)]).into_owned();
                run.key.insert_str(0, &signature.name);
                run.first_us = count.first_us();
            }
            run.begin(count, signature, &sources[count.source as usize], &self.bytes[wide(&count.packed_subject)]);
            match &mut count.tally {
                Some(tally) => tally.pack(&mut run.hits, &signature.fields, zoned),
                None => self.pack_first(&mut run.hits, &count.first, &signature.fields),
            }
            if run.hits.len() > RUN_BYTES {
                run.end(take);
            }
        }
        if run.count > 0 {
            run.end(take);
        }
        all.clear();
        self.all = all;
        self.index.clear();
        self.collided.clear();
        self.bytes.clear();
        self.numbers.clear();
    }

    /// The numbers of the counts, ordered by their keys, and by the time of their first lines.
    fn in_order(&self, all: &[Count], signatures: &[Signature]) -> Vec<u32> {
        let mut names: Vec<&str> = signatures.iter().map(|signature| signature.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut by_name: Vec<Vec<u32>> = names.iter().map(|_| vec![]).collect();
        let ranks: Vec<usize> =
            signatures.iter().map(|signature| names.partition_point(|name| *name < signature.name.as_str())).collect();
        for (number, count) in (0..).zip(all) {
            by_name[ranks[usize::from(count.signature)]].push(number);
        }
        let order = Order { all, bytes: &self.bytes };
        let mut ordered = Vec::with_capacity(all.len());
        let mut keyed = vec![];
        for mine in by_name {
            keyed.clear();
            keyed.extend(mine.into_iter().map(|number| (0, number)));
            order.sort(&mut keyed, 0);
            ordered.extend(keyed.iter().map(|(_, number)| *number));
        }
        ordered
    }

    /// One line, whose time is that of its hit.
    fn pack_first(&self, out: &mut Vec<u8>, first: &First, fields: &[Field]) {
        pack::array(out, 6);
        pack::whole(out, ONE_LINE);
        pack::whole(out, first.number as i64);
        pack::whole(out, first.offset as i64);
        pack::lossy_text(out, &self.bytes[wide(&first.text)]);
        out.extend_from_slice(&self.bytes[wide(&first.others)]);
        let mut ranges = vec![];
        measure(&mut ranges, &self.numbers[wide(&first.measures)]);
        pack_measures(out, &mut ranges, fields);
    }
}

/// Puts counts in the order of their subjects, and of the times of their first lines.
struct Order<'a> {
    all: &'a [Count],
    bytes: &'a [u8],
}

impl Order<'_> {
    fn subject(&self, number: u32) -> &[u8] {
        &self.bytes[wide(&self.all[number as usize].subject)]
    }

    /// Sorts counts whose subjects have this many first bytes in common: by the next sixteen that they do not, which
    /// are kept beside them while that is done, and then those that have these in common as well.
    fn sort(&self, counts: &mut [(u128, u32)], common: usize) {
        let Some((_, first)) = counts.first() else { return };
        let first = &self.subject(*first)[common..];
        let shared = |number| first.iter().zip(&self.subject(number)[common..]).take_while(|(a, b)| a == b).count();
        let from = common + counts.iter().map(|(_, number)| shared(*number)).min().unwrap_or_default();
        for (key, number) in &mut *counts {
            *key = sixteen(&self.subject(*number)[from..]);
        }
        counts.sort_unstable();
        for same in counts.chunk_by_mut(|one, other| one.0 == other.0).filter(|same| same.len() > 1) {
            if same.iter().all(|(_, number)| self.subject(*number).len() >= from + 16) {
                self.sort(same, from + 16);
            } else {
                same.sort_unstable_by_key(|(_, number)| {
                    (self.subject(*number), self.all[*number as usize].first_us(), *number)
                });
            }
        }
    }
}

/// Writes one run after the other.
#[derive(Default)]
struct RunWriter {
    key: String,
    first_us: i64,
    sources: Shared<u32>,
    signatures: Shared<u16>,
    count: u32,
    hits: Vec<u8>,
    packed: Vec<u8>,
}

impl RunWriter {
    /// Begins the next hit: all but its lines.
    fn begin(&mut self, count: &Count, signature: &Signature, source: &[u8], packed_subject: &[u8]) {
        let signature = self.signatures.number(count.signature, |out| {
            let fields = signature.fields.iter().filter(|field| field.subject);
            pack::array(out, 2);
            pack::text(out, &signature.name);
            pack::array(out, fields.clone().count());
            fields.for_each(|field| pack::text(out, &field.name));
        });
        let source = self.sources.number(count.source, |out| out.extend_from_slice(source));
        self.count += 1;
        pack::array(&mut self.hits, 5);
        pack::whole(&mut self.hits, signature);
        self.hits.extend_from_slice(packed_subject);
        pack::whole(&mut self.hits, count.first_us());
        pack::whole(&mut self.hits, source);
    }

    fn end(&mut self, take: &mut impl FnMut(Run<'_>)) {
        self.packed.clear();
        pack::array(&mut self.packed, 3);
        self.sources.move_to(&mut self.packed);
        self.signatures.move_to(&mut self.packed);
        pack::array(&mut self.packed, self.count as usize);
        self.packed.append(&mut self.hits);
        take(Run { key: &self.key, first_us: self.first_us, packed: &self.packed });
        self.count = 0;
    }
}

/// What many hits of a run have in common: each is written once, and has a number.
#[derive(Default)]
struct Shared<K> {
    latest: Option<(K, i64)>,
    numbers: FxHashMap<K, i64>,
    packed: Vec<u8>,
}

impl<K: Copy + Eq + std::hash::Hash> Shared<K> {
    fn number(&mut self, key: K, pack: impl FnOnce(&mut Vec<u8>)) -> i64 {
        if let Some((latest, number)) = self.latest
            && latest == key
        {
            return number;
        }
        let next = self.numbers.len() as i64;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            pack(&mut self.packed);
        }
        self.latest = Some((key, number));
        number
    }

    fn move_to(&mut self, out: &mut Vec<u8>) {
        pack::array(out, self.numbers.len());
        out.append(&mut self.packed);
        self.numbers.clear();
        self.latest = None;
    }
}

struct Kept {
    us: i64,
    number: u64,
    offset: u64,
    text: Vec<u8>,
    others: Vec<u8>,
}

impl Kept {
    fn new(line: Line<'_>, captured: Captured<'_>) -> Self {
        let (text, others) = (excerpt(line.text).to_vec(), captured.others.to_vec());
        Self { us: line.us, number: line.number, offset: line.offset, text, others }
    }

    fn rank(&self) -> (i64, u64) {
        (self.us, self.offset)
    }

    fn pack(&self, out: &mut Vec<u8>, zoned: bool) {
        pack_line(out, (self.us, self.number, self.offset), &self.text, &self.others, zoned);
    }
}

struct Measured {
    field: u16,
    count: i64,
    low: i64,
    high: i64,
}

/// Several lines of one signature, subject and source.
struct Tally {
    count: i64,
    /// The minute of the latest line; those before it, as they came.
    minute: Minute,
    minutes: Vec<Minute>,
    compact: usize,
    measures: Vec<Measured>,
    firsts: Vec<Kept>,
    /// The rank that a line must not exceed to be among the first ones.
    first_until: (i64, u64),
    /// The last one, where it is not among the first.
    last: Option<Kept>,
}

impl Tally {
    fn new(line: Line<'_>, captured: Captured<'_>) -> Self {
        let mut tally = Self {
            count: 0,
            minute: (0, 0, 0),
            minutes: vec![],
            compact: COMPACT_SPANS,
            measures: vec![],
            firsts: Vec::with_capacity(FIRSTS),
            first_until: (i64::MAX, 0),
            last: None,
        };
        tally.add(line, captured);
        tally
    }

    fn add(&mut self, line: Line<'_>, captured: Captured<'_>) {
        self.count += 1;
        measure(&mut self.measures, captured.measures);
        self.count_minute(line.us);
        let rank = (line.us, line.offset);
        if rank <= self.first_until {
            let place = self.firsts.partition_point(|kept| kept.rank() < rank);
            if self.firsts.len() == FIRSTS {
                let put_out = self.firsts.pop();
                if self.last.is_none() {
                    self.last = put_out;
                }
            }
            self.firsts.insert(place, Kept::new(line, captured));
            if let Some(kept) = self.firsts.get(FIRSTS - 1) {
                self.first_until = kept.rank();
            }
            return;
        }
        match &mut self.last {
            Some(last) if rank <= last.rank() => {}
            Some(last) => {
                (last.us, last.number, last.offset) = (line.us, line.number, line.offset);
                last.text.clear();
                last.text.extend_from_slice(excerpt(line.text));
                last.others.clear();
                last.others.extend_from_slice(captured.others);
            }
            None => self.last = Some(Kept::new(line, captured)),
        }
    }

    fn count_minute(&mut self, us: i64) {
        let latest = &mut self.minute;
        if latest.2 > 0 && latest.0.div_euclid(MINUTE_US) == us.div_euclid(MINUTE_US) {
            latest.0 = latest.0.min(us);
            latest.1 = latest.1.max(us);
            latest.2 += 1;
            return;
        }
        if latest.2 > 0 {
            self.minutes.push(*latest);
        }
        self.minute = (us, us, 1);
        if self.minutes.len() > self.compact {
            self.join_minutes();
            self.compact = COMPACT_SPANS.max(2 * self.minutes.len());
        }
    }

    fn join_minutes(&mut self) {
        if self.minute.2 > 0 {
            self.minutes.push(std::mem::take(&mut self.minute));
        }
        self.minutes.sort_unstable();
        self.minutes.dedup_by(|later, earlier| {
            let same = later.0.div_euclid(MINUTE_US) == earlier.0.div_euclid(MINUTE_US);
            if same {
                earlier.1 = earlier.1.max(later.1);
                earlier.2 += later.2;
            }
            same
        });
    }

    fn pack(&mut self, out: &mut Vec<u8>, fields: &[Field], zoned: bool) {
        self.join_minutes();
        pack::array(out, 6);
        pack::whole(out, SEVERAL_LINES);
        pack::whole(out, self.count);
        pack_minutes(out, &self.minutes);
        pack_measures(out, &mut self.measures, fields);
        pack::array(out, self.firsts.len());
        for kept in &self.firsts {
            kept.pack(out, zoned);
        }
        match &self.last {
            Some(kept) => kept.pack(out, zoned),
            None => out.push(0xc0),
        }
    }
}

fn measure(known: &mut Vec<Measured>, measures: &[(u16, i64)]) {
    for &(field, value) in measures {
        match known.iter_mut().find(|range| range.field == field) {
            Some(range) => {
                range.count += 1;
                range.low = range.low.min(value);
                range.high = range.high.max(value);
            }
            None => known.push(Measured { field, count: 1, low: value, high: value }),
        }
    }
}

fn pack_measures(out: &mut Vec<u8>, measures: &mut [Measured], fields: &[Field]) {
    let name = |range: &Measured| fields[usize::from(range.field)].name.as_str();
    measures.sort_by(|one, other| name(one).cmp(name(other)));
    pack::array(out, measures.len());
    for range in measures {
        pack::array(out, 4);
        pack::text(out, name(range));
        for number in [range.count, range.low, range.high] {
            pack::whole(out, number);
        }
    }
}

/// A `Histogram`.
pub fn pack_minutes(out: &mut Vec<u8>, minutes: &[Minute]) {
    out.push(0x81); // a map with one key
    pack::text(out, "packed");
    pack::binary_head(out, 24 * minutes.len());
    for span in minutes {
        for number in [span.0, span.1, span.2] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// A `KeptLine`: its time, its number and its offset come first.
fn pack_line(out: &mut Vec<u8>, (us, number, offset): (i64, u64, u64), text: &[u8], others: &[u8], zoned: bool) {
    pack::array(out, 6);
    pack::whole(out, us);
    pack::truth(out, zoned);
    pack::whole(out, number as i64);
    pack::whole(out, offset as i64);
    pack::lossy_text(out, text);
    out.extend_from_slice(others);
}

/// What is kept of a line.
fn excerpt(line: &[u8]) -> &[u8] {
    let mut text = &line[..line.len().min(EXCERPT)];
    while let Some(shorter) = text.strip_suffix(b"\r") {
        text = shorter;
    }
    text
}

fn wide(span: &Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// The first sixteen bytes as a number that sorts as they do.
fn sixteen(bytes: &[u8]) -> u128 {
    let mut first = [0; 16];
    let length = bytes.len().min(16);
    first[..length].copy_from_slice(&bytes[..length]);
    u128::from_be_bytes(first)
}
