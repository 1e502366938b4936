//! Puts the hits of one key together: one packed value for each server that logged them, of which an occurrence is made.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::collections::HashMap;

use crate::counts::{FIRSTS, MINUTE_US, Minute, ONE_LINE, SEVERAL_LINES, pack_minutes};
use crate::pack;
use crate::unpack::Packed;

/// A histogram with more spans than this gets wider ones.
const BUCKETS: usize = 512;
/// Undated lines come behind all others.
const NO_TIME: i64 = 1 << 62;

/// Who wrote the lines of a hit.
pub struct Source {
    pub server: u32,
    /// Whether times are in UTC. None: no line is dated.
    pub zoned: Option<bool>,
    file: Vec<u8>,
}

impl Source {
    /// From a packed `HitSource`.
    pub fn read(packed: &[u8], server: u32) -> Option<Self> {
        let mut source = Packed(packed);
        (source.array()? == 5).then_some(())?;
        let file = source.text()?.to_vec();
        for _ in 0..3 {
            source.any()?;
        }
        let zoned = if source.nil() { None } else { Some(source.truth()?) };
        Some(Self { server, zoned, file })
    }
}

/// A hit as it stands in its run. `source` and `signature` are numbers in the tables of all runs.
pub struct Hit<'a> {
    pub source: u32,
    pub signature: u32,
    pub packed: &'a [u8],
}

/// The hits of one key as one value for each server and clock: how many lines, and all of it packed; in no order. None
/// where a hit is damaged.
pub fn merged(hits: &[Hit<'_>], sources: &[Source], signatures: &[Vec<u8>]) -> Option<Vec<(i64, Vec<u8>)>> {
    let mut numbers: HashMap<(u32, bool), usize> = HashMap::new();
    let mut groups: Vec<(bool, Vec<&Hit<'_>>)> = vec![];
    let of = |hit: &Hit<'_>| &sources[hit.source as usize];
    let (dated, undated): (Vec<&Hit<'_>>, Vec<&Hit<'_>>) = hits.iter().partition(|hit| of(hit).zoned.is_some());
    for hit in dated.into_iter().chain(undated) {
        let server = of(hit).server;
        let zoned = of(hit).zoned.unwrap_or_else(|| numbers.contains_key(&(server, true)));
        let number = *numbers.entry((server, zoned)).or_insert(groups.len());
        if number == groups.len() {
            groups.push((zoned, vec![]));
        }
        groups[number].1.push(hit);
    }
    groups.iter().map(|(zoned, mine)| merged_of_one(mine, *zoned, sources, signatures)).collect()
}

/// Those of one server and clock.
fn merged_of_one(hits: &[&Hit<'_>], zoned: bool, sources: &[Source], signatures: &[Vec<u8>]) -> Option<(i64, Vec<u8>)> {
    let mut together = Together::default();
    let mut subject = None;
    for hit in hits {
        let mut packed = Packed(hit.packed);
        packed.array()?;
        packed.whole()?;
        let values = packed.any()?;
        subject.get_or_insert(values);
        let first_us = packed.whole()?;
        packed.whole()?;
        together.add(packed, first_us, hit.source, &sources[hit.source as usize])?;
    }
    let first = hits.first()?;
    let mut out = vec![];
    pack::array(&mut out, 10);
    pack::whole(&mut out, first.source.into());
    pack::truth(&mut out, zoned);
    out.extend_from_slice(&signatures[first.signature as usize]);
    out.extend_from_slice(subject?);
    together.pack(&mut out, sources);
    Some((together.count, out))
}

/// A line that was kept. `packed` is the `KeptLine`.
#[derive(Clone)]
struct Seen<'a> {
    us: Option<i64>,
    offset: i64,
    source: u32,
    text: &'a [u8],
    packed: Cow<'a, [u8]>,
}

impl<'a> Seen<'a> {
    fn read(packed: &mut Packed<'a>, source: u32) -> Option<Self> {
        let mut line = Packed(packed.any()?);
        let whole = line.0;
        (line.array()? == 6).then_some(())?;
        let us = if line.nil() { None } else { Some(line.whole()?) };
        line.any()?;
        line.any()?;
        let offset = line.whole()?;
        Some(Self { us, offset, source, text: line.text()?, packed: whole.into() })
    }

    fn rank<'s>(&self, undated: i64, sources: &'s [Source]) -> (i64, &'s [u8], i64) {
        (self.us.unwrap_or(undated), &sources[self.source as usize].file, self.offset)
    }
}

struct Measured<'a> {
    field: &'a [u8],
    count: i128,
    low: i128,
    high: i128,
}

#[derive(Default)]
struct Together<'a> {
    count: i64,
    minutes: Vec<Minute>,
    measures: Vec<Measured<'a>>,
    firsts: Vec<Seen<'a>>,
    lasts: Vec<Seen<'a>>,
}

impl<'a> Together<'a> {
    /// Adds what a hit has behind its source.
    fn add(&mut self, mut packed: Packed<'a>, first_us: i64, number: u32, source: &Source) -> Option<()> {
        (packed.array()? == 6).then_some(())?;
        match packed.whole()? {
            ONE_LINE => self.add_line(packed, first_us, number, source.zoned.unwrap_or_default()),
            SEVERAL_LINES => self.add_lines(packed, number),
            _ => None,
        }
    }

    fn add_line(&mut self, mut packed: Packed<'a>, us: i64, source: u32, zoned: bool) -> Option<()> {
        let number = packed.any()?;
        let offset = packed.any()?;
        let text = packed.any()?;
        let fields = packed.any()?;
        let mut line = vec![];
        pack::array(&mut line, 6);
        pack::whole(&mut line, us);
        pack::truth(&mut line, zoned);
        for value in [number, offset, text, fields] {
            line.extend_from_slice(value);
        }
        self.count += 1;
        self.minutes.push((us, us, 1));
        self.measure(&mut packed)?;
        let (offset, text) = (Packed(offset).whole()?, Packed(text).text()?);
        let seen = Seen { us: Some(us), offset, source, text, packed: line.into() };
        self.lasts.push(seen.clone());
        self.firsts.push(seen);
        Some(())
    }

    fn add_lines(&mut self, mut packed: Packed<'a>, source: u32) -> Option<()> {
        self.count += packed.whole()?;
        (packed.map()? == 1).then_some(())?;
        packed.text()?;
        self.minutes.extend(packed.binary()?.chunks_exact(24).map(|span| {
            let number = |at: usize| i64::from_le_bytes(std::array::from_fn(|byte| span[8 * at + byte]));
            (number(0), number(1), number(2))
        }));
        self.measure(&mut packed)?;
        let from = self.firsts.len();
        for _ in 0..packed.array()? {
            self.firsts.push(Seen::read(&mut packed, source)?);
        }
        if packed.nil() {
            let dated = self.firsts[from..].iter().rfind(|seen| seen.us.is_some());
            self.lasts.extend(dated.cloned());
        } else {
            self.lasts.push(Seen::read(&mut packed, source)?);
        }
        Some(())
    }

    fn measure(&mut self, packed: &mut Packed<'a>) -> Option<()> {
        for _ in 0..packed.array()? {
            (packed.array()? == 4).then_some(())?;
            let field = packed.text()?;
            let (count, low, high) =
                (packed.number_of_any_size()?, packed.number_of_any_size()?, packed.number_of_any_size()?);
            match self.measures.iter_mut().find(|known| known.field == field) {
                Some(known) => {
                    known.count += count;
                    known.low = known.low.min(low);
                    known.high = known.high.max(high);
                }
                None => self.measures.push(Measured { field, count, low, high }),
            }
        }
        Some(())
    }

    fn pack(&mut self, out: &mut Vec<u8>, sources: &[Source]) {
        pack::whole(out, self.count);
        let width = joined(&mut self.minutes);
        pack::whole(out, width);
        pack_minutes(out, &self.minutes);
        self.measures.sort_by_key(|measure| measure.field);
        pack::array(out, self.measures.len());
        for measure in &self.measures {
            pack::array(out, 4);
            pack::lossy_text(out, measure.field);
            for number in [measure.count, measure.low, measure.high] {
                pack::number_of_any_size(out, number);
            }
        }
        let first = self.firsts.first().map(|seen| seen.text);
        self.firsts.sort_by(|one, other| one.rank(NO_TIME, sources).cmp(&other.rank(NO_TIME, sources)));
        self.firsts.truncate(FIRSTS);
        let later =
            |one: Seen<'a>, other: Seen<'a>| if other.rank(-1, sources) > one.rank(-1, sources) { other } else { one };
        let last = std::mem::take(&mut self.lasts).into_iter().reduce(later);
        let place = |seen: &Seen<'_>| (seen.offset, sources[seen.source as usize].file.as_slice());
        let last = last.filter(|last| self.firsts.iter().all(|seen| place(seen) != place(last)));
        pack::array(out, self.firsts.len() + usize::from(last.is_some()));
        for seen in self.firsts.iter().chain(&last) {
            pack::array(out, 2);
            pack::whole(out, seen.source.into());
            out.extend_from_slice(&seen.packed);
        }
        match first {
            Some(text) => pack::lossy_text(out, text),
            None => pack::nil(out),
        }
    }
}

/// Joins spans of one multiple of a width, which is a minute, or as wide as their number demands. The width.
fn joined(spans: &mut Vec<Minute>) -> i64 {
    spans.sort_unstable();
    let mut width = MINUTE_US;
    while spans.chunk_by(|one, other| one.0.div_euclid(width) == other.0.div_euclid(width)).count() > BUCKETS {
        width *= 2;
    }
    spans.dedup_by(|later, earlier| {
        let same = later.0.div_euclid(width) == earlier.0.div_euclid(width);
        if same {
            earlier.1 = earlier.1.max(later.1);
            earlier.2 += later.2;
        }
        same
    });
    width
}
