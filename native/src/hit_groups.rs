//! Brings the hits of many runs together by their keys, and leaves those out that no report can keep.
//!
//! A group has the hits of one key: lines of one signature and subject, in all parts of a log and by all its servers.
//! Those of one server are put together; see `merged_hits`. Of each signature only the subjects with most lines are kept. A group that certainly is none of these is only
//! counted here: where nearly every line names a subject of its own, that is nearly every group.
#![forbid(unsafe_code)]

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::counts::{ONE_LINE, SEVERAL_LINES};
use crate::merged_hits::{Hit, Source, merged};
use crate::unpack::Packed;

/// A run is no run.
#[derive(Debug)]
pub struct Damaged(pub &'static str);

const DAMAGED: Damaged = Damaged("a run of hits is damaged");

/// The hits of one key, packed, one value for each server; or, without any, lines and subjects of a signature that are
/// left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    pub signature: String,
    pub merged: Vec<Vec<u8>>,
    pub lines: i64,
    pub subjects: i64,
}

/// Packed values that many hits have in common: each is kept once, and has a number.
#[derive(Default)]
struct Table {
    numbers: HashMap<Vec<u8>, u32>,
    packed: Vec<Vec<u8>>,
}

impl Table {
    fn number(&mut self, packed: &[u8]) -> u32 {
        if let Some(known) = self.numbers.get(packed) {
            return *known;
        }
        let number = self.packed.len() as u32;
        self.numbers.insert(packed.into(), number);
        self.packed.push(packed.into());
        number
    }
}

/// The next hit of a run: its key, and what else decides about it.
struct Cursor {
    run: Box<[u8]>,
    /// Numbers in the tables of all runs, and names of signatures.
    sources: Vec<u32>,
    signatures: Vec<(Vec<u8>, u32)>,
    start: i64,
    number: u64,
    next: usize,
    left: usize,
    key: Vec<u8>,
    first_us: i64,
    signature: u32,
    source: u32,
    lines: i64,
    hit: Range<usize>,
}

impl Cursor {
    /// `start` is that of its part, `number` says how many runs came before.
    fn new<E: From<Damaged>>(
        start: i64,
        number: u64,
        run: Box<[u8]>,
        shared: &mut Shared,
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<Self, E> {
        let (sources, signatures, left, next) = shared.read(&run, server_of)?;
        let mut cursor = Self {
            run,
            sources,
            signatures,
            start,
            number,
            next,
            left,
            key: vec![],
            first_us: 0,
            signature: 0,
            source: 0,
            lines: 0,
            hit: 0..0,
        };
        if cursor.advance()? { Ok(cursor) } else { Err(DAMAGED.into()) }
    }

    /// Whether there is one more.
    fn advance(&mut self) -> Result<bool, Damaged> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.read().ok_or(DAMAGED)?;
        Ok(true)
    }

    fn read(&mut self) -> Option<()> {
        let mut packed = Packed(&self.run[self.next..]);
        (packed.array()? == 5).then_some(())?;
        let (name, signature) = self.signatures.get(usize::try_from(packed.whole()?).ok()?)?;
        self.signature = *signature;
        self.key.clone_from(name);
        for _ in 0..packed.array()? {
            self.key.push(0x1f);
            self.key.extend_from_slice(packed.text()?);
        }
        self.first_us = packed.whole()?;
        self.source = *self.sources.get(usize::try_from(packed.whole()?).ok()?)?;
        let values = packed.array()?;
        let passed = match packed.whole()? {
            ONE_LINE => {
                self.lines = 1;
                1
            }
            SEVERAL_LINES => {
                self.lines = packed.whole()?;
                2
            }
            _ => return None,
        };
        for _ in passed..values {
            packed.any()?;
        }
        self.hit = self.next..self.run.len() - packed.0.len();
        self.next = self.hit.end;
        Some(())
    }

    fn rank(&self) -> (&[u8], i64, i64, u64) {
        (&self.key, self.first_us, self.start, self.number)
    }
}

impl Ord for Cursor {
    /// The greatest comes first out of a heap: that with the lowest rank.
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank().cmp(&self.rank())
    }
}

impl PartialOrd for Cursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cursor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cursor {}

/// What the hits of all runs have in common.
#[derive(Default)]
struct Shared {
    sources: Table,
    /// What is known of each source, by number.
    known: Vec<Source>,
    signatures: Table,
}

type Head = (Vec<u32>, Vec<(Vec<u8>, u32)>, usize, usize);

impl Shared {
    /// Reads what a run begins with: its sources and signatures, how many hits it has, and where they begin.
    fn read<E: From<Damaged>>(
        &mut self,
        run: &[u8],
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<Head, E> {
        let head = self.numbered(run).ok_or(DAMAGED)?;
        while let Some(packed) = self.sources.packed.get(self.known.len()) {
            self.known.push(Source::read(packed, server_of(packed)?).ok_or(DAMAGED)?);
        }
        Ok(head)
    }

    fn numbered(&mut self, run: &[u8]) -> Option<Head> {
        let mut packed = Packed(run);
        (packed.array()? == 3).then_some(())?;
        let sources = (0..packed.array()?).map(|_| Some(self.sources.number(packed.any()?))).collect::<Option<_>>()?;
        let count = packed.array()?;
        let signature = |_| {
            let signature = packed.any()?;
            let mut name = Packed(signature);
            name.array()?;
            Some((name.text()?.into(), self.signatures.number(signature)))
        };
        let signatures = (0..count).map(signature).collect::<Option<_>>()?;
        let hits = packed.array()?;
        Some((sources, signatures, hits, run.len() - packed.0.len()))
    }
}

/// A hit of the group that is being gathered. It ends here in the bytes of all.
struct Gathered {
    signature: u32,
    source: u32,
    lines: i64,
    end: usize,
}

/// Takes runs in the order of their first keys, and gives groups in the order of theirs.
pub struct Groups {
    kept: usize,
    runs: BinaryHeap<Cursor>,
    came: u64,
    /// The group that is being gathered.
    key: Vec<u8>,
    hits: Vec<Gathered>,
    bytes: Vec<u8>,
    /// The signature of the last group, its lines and subjects that are left out, and the most lines of its subjects.
    signature: Vec<u8>,
    lines: i64,
    subjects: i64,
    most: BinaryHeap<Reverse<i64>>,
    shared: Shared,
    pub complete: Vec<Group>,
}

impl Groups {
    pub fn new(kept: usize) -> Self {
        Self {
            kept,
            runs: BinaryHeap::new(),
            came: 0,
            key: vec![],
            hits: vec![],
            bytes: vec![],
            signature: vec![],
            lines: 0,
            subjects: 0,
            most: BinaryHeap::new(),
            shared: Shared::default(),
            complete: vec![],
        }
    }

    /// Takes a run of a part that begins at `start`. `server_of` gives the number of the server of a packed source; it
    /// is asked once for each source, in the order of their numbers.
    pub fn add<E: From<Damaged>>(
        &mut self,
        start: i64,
        run: Box<[u8]>,
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<(), E> {
        let cursor = Cursor::new(start, self.came, run, &mut self.shared, server_of)?;
        self.came += 1;
        self.advance_to(Some(&cursor.key))?;
        self.runs.push(cursor);
        Ok(())
    }

    /// All runs are there.
    pub fn end(&mut self) -> Result<(), Damaged> {
        self.advance_to(None)?;
        self.close()?;
        self.leave_out();
        Ok(())
    }

    /// Gathers all hits of keys before this one.
    fn advance_to(&mut self, key: Option<&[u8]>) -> Result<(), Damaged> {
        while let Some(next) = self.runs.peek()
            && key.is_none_or(|key| next.key.as_slice() < key)
        {
            if self.hits.is_empty() || self.key != next.key {
                self.close()?;
            }
            let Some(mut next) = self.runs.peek_mut() else { break };
            if self.hits.is_empty() {
                self.key.clone_from(&next.key);
            }
            self.bytes.extend_from_slice(&next.run[next.hit.clone()]);
            self.hits.push(Gathered {
                signature: next.signature,
                source: next.source,
                lines: next.lines,
                end: self.bytes.len(),
            });
            if !next.advance()? {
                PeekMut::pop(next);
            }
        }
        Ok(())
    }

    /// The group is complete.
    fn close(&mut self) -> Result<(), Damaged> {
        let Some(first) = self.hits.first() else { return Ok(()) };
        let packed = &self.shared.signatures.packed;
        let mut signature = Packed(&packed[first.signature as usize]);
        let signature = signature.array().and_then(|_| signature.text()).unwrap_or_default();
        if *signature != self.signature {
            let signature = signature.to_vec();
            self.leave_out();
            self.signature = signature;
            self.most.clear();
        }
        let lines: i64 = self.hits.iter().map(|hit| hit.lines).sum();
        let full = self.most.len() >= self.kept;
        if full && self.most.peek().is_some_and(|least| lines <= least.0) && self.is_of_one_server() {
            self.lines += lines;
            self.subjects += 1;
        } else {
            let mut begin = 0;
            let hit = |hit: &Gathered| {
                let packed = &self.bytes[std::mem::replace(&mut begin, hit.end)..hit.end];
                Hit { source: hit.source, signature: hit.signature, packed }
            };
            let hits: Vec<Hit<'_>> = self.hits.iter().map(hit).collect();
            let found = merged(&hits, &self.shared.known, &self.shared.signatures.packed).ok_or(DAMAGED)?;
            for (lines, _) in &found {
                self.most.push(Reverse(*lines));
                if self.most.len() > self.kept {
                    self.most.pop();
                }
            }
            let merged = found.into_iter().map(|(_, packed)| packed).collect();
            self.complete.push(Group { signature: text(&self.signature), merged, lines: 0, subjects: 0 });
        }
        self.hits.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Whether the lines of the group certainly are of one server, all with dates on one clock.
    fn is_of_one_server(&self) -> bool {
        if self.hits.len() == 1 {
            return true;
        }
        let mut clocks = self.hits.iter().map(|hit| {
            let source = &self.shared.known[hit.source as usize];
            (source.server, source.zoned)
        });
        let first = clocks.next();
        first.is_some_and(|(_, zoned)| zoned.is_some()) && clocks.all(|clock| Some(clock) == first)
    }

    /// Reports what was left out of the last signature.
    fn leave_out(&mut self) {
        if self.subjects > 0 {
            let (lines, subjects) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.subjects));
            self.complete.push(Group { signature: text(&self.signature), merged: vec![], lines, subjects });
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
