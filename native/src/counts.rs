//! Counts lines by signature, subject and who wrote them.
#![forbid(unsafe_code)]

use crate::pack;
use crate::signatures::{Field, Signature};

/// First lines kept of each; the last one is kept too.
const FIRSTS: usize = 3;
/// Bytes kept of a line.
const EXCERPT: usize = 512;
const MINUTE_US: i64 = 60_000_000;
const COMPACT_SPANS: usize = 4096;

/// A line that is to be counted.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// Microseconds, in UTC where the zone is known.
    pub us: i64,
    pub offset: u64,
    pub number: u64,
    pub text: &'a [u8],
}

#[derive(Default)]
struct Kept {
    us: i64,
    number: u64,
    offset: u64,
    text: Vec<u8>,
    others: Vec<u8>,
}

impl Kept {
    fn set(&mut self, line: Line<'_>, others: &[u8]) {
        (self.us, self.number, self.offset) = (line.us, line.number, line.offset);
        let mut text = &line.text[..line.text.len().min(EXCERPT)];
        while let Some(shorter) = text.strip_suffix(b"\r") {
            text = shorter;
        }
        self.text.clear();
        self.text.extend_from_slice(text);
        self.others.clear();
        self.others.extend_from_slice(others);
    }

    fn pack(&self, out: &mut Vec<u8>, zoned: bool) {
        pack::array(out, 6);
        pack::whole(out, self.us);
        pack::truth(out, zoned);
        pack::whole(out, self.number as i64);
        pack::whole(out, self.offset as i64);
        pack::text(out, &String::from_utf8_lossy(&self.text));
        out.extend(&self.others);
    }
}

struct Range {
    field: u16,
    count: i64,
    low: i64,
    high: i64,
}

/// What a line captured besides its subject: packed fields, and their numbers by field.
#[derive(Default, Clone)]
pub struct Captured {
    pub others: Vec<u8>,
    pub measures: Vec<(u16, i64)>,
}

/// Lines of one signature, subject and source.
pub struct Count {
    pub signature: u16,
    pub source: u32,
    /// Values of the subject, each behind a unit separator.
    pub subject: Vec<u8>,
    packed_subject: Vec<u8>,
    count: i64,
    minutes: Vec<(i64, i64, i64)>,
    compact: usize,
    measures: Vec<Range>,
    firsts: Vec<Kept>,
    last: Option<Kept>,
}

impl Count {
    pub fn new(signature: u16, source: u32, subject: Vec<u8>, packed_subject: Vec<u8>) -> Self {
        Self {
            signature,
            source,
            subject,
            packed_subject,
            count: 0,
            minutes: vec![],
            compact: COMPACT_SPANS,
            measures: vec![],
            firsts: vec![],
            last: None,
        }
    }

    pub fn add(&mut self, line: Line<'_>, captured: &Captured) {
        self.count += 1;
        self.measure(&captured.measures);
        self.count_minute(line.us);
        let rank = (line.us, line.offset);
        if self.firsts.len() < FIRSTS || self.firsts.last().is_some_and(|last| rank < (last.us, last.offset)) {
            let mut kept = Kept::default();
            kept.set(line, &captured.others);
            self.firsts.push(kept);
            self.firsts.sort_by_key(|kept| (kept.us, kept.offset));
            self.firsts.truncate(FIRSTS);
        }
        let last = self.last.get_or_insert_with(|| Kept { us: i64::MIN, ..Kept::default() });
        if rank > (last.us, last.offset) {
            last.set(line, &captured.others);
        }
    }

    fn measure(&mut self, measures: &[(u16, i64)]) {
        for &(field, value) in measures {
            match self.measures.iter_mut().find(|range| range.field == field) {
                Some(range) => {
                    range.count += 1;
                    range.low = range.low.min(value);
                    range.high = range.high.max(value);
                }
                None => self.measures.push(Range { field, count: 1, low: value, high: value }),
            }
        }
    }

    fn count_minute(&mut self, us: i64) {
        match self.minutes.last_mut() {
            Some(last) if last.0.div_euclid(MINUTE_US) == us.div_euclid(MINUTE_US) => {
                last.0 = last.0.min(us);
                last.1 = last.1.max(us);
                last.2 += 1;
            }
            _ => {
                self.minutes.push((us, us, 1));
                if self.minutes.len() > self.compact {
                    self.join_minutes();
                    self.compact = COMPACT_SPANS.max(2 * self.minutes.len());
                }
            }
        }
    }

    fn join_minutes(&mut self) {
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

    /// The time of the first line, and the row: `HitRow` of `jsdoctor.parse.logs.scan.rows`.
    pub fn pack(mut self, signature: &Signature, head: &[u8], source: &[u8], zoned: bool) -> (i64, Vec<u8>) {
        self.join_minutes();
        let mut out = vec![];
        pack::array(&mut out, 11);
        out.extend(head);
        out.extend(source);
        pack::truth(&mut out, zoned);
        out.extend(&self.packed_subject);
        pack::whole(&mut out, self.count);
        let mut spans = Vec::with_capacity(24 * self.minutes.len());
        for span in &self.minutes {
            for number in [span.0, span.1, span.2] {
                spans.extend(number.to_le_bytes());
            }
        }
        out.push(0x81); // a map with one key
        pack::text(&mut out, "packed");
        pack::binary(&mut out, &spans);
        self.pack_measures(&mut out, &signature.fields);
        pack::array(&mut out, self.firsts.len());
        for kept in &self.firsts {
            kept.pack(&mut out, zoned);
        }
        match &self.last {
            Some(kept) => kept.pack(&mut out, zoned),
            None => out.push(0xc0),
        }
        (self.minutes.first().map_or(0, |span| span.0), out)
    }

    fn pack_measures(&mut self, out: &mut Vec<u8>, fields: &[Field]) {
        let name = |range: &Range| fields[usize::from(range.field)].name.as_str();
        self.measures.sort_by(|one, other| name(one).cmp(name(other)));
        pack::array(out, self.measures.len());
        for range in &self.measures {
            pack::array(out, 4);
            pack::text(out, name(range));
            for number in [range.count, range.low, range.high] {
                pack::whole(out, number);
            }
        }
    }
}
