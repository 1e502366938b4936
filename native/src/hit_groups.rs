//! Brings the hits of many runs together by their keys, and leaves those out that no report can keep.
//!
//! A group has the hits of one key: lines of one signature and subject, in all parts of a log and by all its servers.
//! Of each signature only the subjects with most lines are kept. A group that certainly is none of these is only
//! counted here: where nearly every line names a subject of its own, that is nearly every group.
#![forbid(unsafe_code)]

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use crate::unpack::Packed;

/// A run is no run.
#[derive(Debug)]
pub struct Damaged(pub &'static str);

const DAMAGED: Damaged = Damaged("a run of hits is damaged");

/// The hits of one key; or, without any, lines and subjects of a signature that are left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    pub signature: String,
    pub hits: Vec<Vec<u8>>,
    pub lines: i64,
    pub subjects: i64,
}

/// The next hit of a run.
struct Cursor {
    run: Box<[u8]>,
    start: i64,
    next: usize,
    left: usize,
    key: Range<usize>,
    first_us: i64,
    hits: Range<usize>,
}

impl Cursor {
    fn new(start: i64, run: Box<[u8]>) -> Result<Self, Damaged> {
        let mut packed = Packed(&run);
        let left = packed.array().ok_or(DAMAGED)?;
        let next = run.len() - packed.0.len();
        let mut cursor = Self { run, start, next, left, key: 0..0, first_us: 0, hits: 0..0 };
        if cursor.advance()? { Ok(cursor) } else { Err(DAMAGED) }
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
        let at = |packed: &Packed<'_>| self.run.len() - packed.0.len();
        (packed.array()? == 3).then_some(())?;
        let length = packed.text()?.len();
        self.key = at(&packed) - length..at(&packed);
        self.first_us = packed.whole()?;
        let length = packed.any()?.len();
        self.hits = at(&packed) - length..at(&packed);
        self.next = self.hits.end;
        Some(())
    }

    fn key(&self) -> &[u8] {
        &self.run[self.key.clone()]
    }

    fn hits(&self) -> &[u8] {
        &self.run[self.hits.clone()]
    }

    fn rank(&self) -> (&[u8], i64, i64, &[u8]) {
        (self.key(), self.first_us, self.start, self.hits())
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

/// What of a hit decides whether it is kept.
struct Counted<'a> {
    /// File, start, name and voice, packed: who wrote the lines.
    source: &'a [u8],
    zoned: u8,
    lines: i64,
}

impl<'a> Counted<'a> {
    fn read(hits: &'a [u8]) -> Option<Self> {
        let mut packed = Packed(hits);
        packed.array()?;
        let source = packed.0;
        for _ in 0..4 {
            packed.any()?;
        }
        let source = &source[..source.len() - packed.0.len()];
        let zoned = *packed.any()?.first()?;
        packed.any()?; // the subject
        Some(Self { source, zoned, lines: packed.whole()? })
    }
}

/// Takes runs in the order of their first keys, and gives groups in the order of theirs.
pub struct Groups {
    kept: usize,
    runs: BinaryHeap<Cursor>,
    /// The group that is being gathered: its key, and where each of its hits ends.
    key: Vec<u8>,
    hits: Vec<u8>,
    ends: Vec<usize>,
    /// The signature of the last group, its lines and subjects that are left out, and the most lines of its subjects.
    signature: Vec<u8>,
    lines: i64,
    subjects: i64,
    most: BinaryHeap<Reverse<i64>>,
    servers: HashMap<Vec<u8>, u32>,
    pub complete: Vec<Group>,
}

impl Groups {
    pub fn new(kept: usize) -> Self {
        Self {
            kept,
            runs: BinaryHeap::new(),
            key: vec![],
            hits: vec![],
            ends: vec![],
            signature: vec![],
            lines: 0,
            subjects: 0,
            most: BinaryHeap::new(),
            servers: HashMap::new(),
            complete: vec![],
        }
    }

    /// Takes a run of a part that begins at `start`. `server_of` gives the number of the server of a packed source.
    pub fn add<E: From<Damaged>>(
        &mut self,
        start: i64,
        run: Box<[u8]>,
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<(), E> {
        let cursor = Cursor::new(start, run)?;
        self.advance_to(Some(cursor.key()), server_of)?;
        self.runs.push(cursor);
        Ok(())
    }

    /// All runs are there.
    pub fn end<E: From<Damaged>>(&mut self, server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>) -> Result<(), E> {
        self.advance_to(None, server_of)?;
        self.close(server_of)?;
        self.leave_out();
        Ok(())
    }

    /// Gathers all hits of keys before this one.
    fn advance_to<E: From<Damaged>>(
        &mut self,
        key: Option<&[u8]>,
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<(), E> {
        while let Some(next) = self.runs.peek()
            && key.is_none_or(|key| next.key() < key)
        {
            if self.ends.is_empty() || self.key != next.key() {
                self.close(server_of)?;
            }
            let Some(mut next) = self.runs.peek_mut() else { break };
            if self.ends.is_empty() {
                self.key.clear();
                self.key.extend_from_slice(next.key());
            }
            self.hits.extend_from_slice(next.hits());
            self.ends.push(self.hits.len());
            if !next.advance()? {
                PeekMut::pop(next);
            }
        }
        Ok(())
    }

    /// The group is complete.
    fn close<E: From<Damaged>>(&mut self, server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>) -> Result<(), E> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let signature = self.key.split(|byte| *byte == 0x1f).next().unwrap_or_default();
        if signature != self.signature {
            let signature = signature.to_vec();
            self.leave_out();
            self.signature = signature;
            self.most.clear();
        }
        let (lines, one_server) = self.counted(server_of)?;
        let full = self.most.len() >= self.kept;
        if full && self.most.peek().is_some_and(|least| lines <= least.0) && one_server {
            self.lines += lines;
            self.subjects += 1;
        } else {
            if self.ends.len() == 1 {
                self.most.push(Reverse(lines));
                if full {
                    self.most.pop();
                }
            }
            let mut begin = 0;
            let hits = self.ends.iter().map(|end| self.hits[std::mem::replace(&mut begin, *end)..*end].to_vec());
            let hits = hits.collect();
            self.complete.push(Group { signature: text(&self.signature), hits, lines: 0, subjects: 0 });
        }
        self.hits.clear();
        self.ends.clear();
        Ok(())
    }

    /// The lines of the group, and whether they certainly are of one server, all with dates.
    fn counted<E: From<Damaged>>(
        &mut self,
        server_of: &mut impl FnMut(&[u8]) -> Result<u32, E>,
    ) -> Result<(i64, bool), E> {
        let (mut lines, mut one_server) = (0, true);
        let mut known: Option<(u32, u8)> = None;
        let mut begin = 0;
        for end in &self.ends {
            let hit = Counted::read(&self.hits[begin..*end]).ok_or(DAMAGED)?;
            begin = *end;
            lines += hit.lines;
            if self.ends.len() == 1 {
                break;
            }
            let server = match self.servers.get(hit.source) {
                Some(server) => *server,
                None => {
                    let server = server_of(hit.source)?;
                    self.servers.insert(hit.source.to_vec(), server);
                    server
                }
            };
            one_server &= hit.zoned != 0xc0 && *known.get_or_insert((server, hit.zoned)) == (server, hit.zoned);
        }
        Ok((lines, one_server))
    }

    /// Reports what was left out of the last signature.
    fn leave_out(&mut self) {
        if self.subjects > 0 {
            let (lines, subjects) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.subjects));
            self.complete.push(Group { signature: text(&self.signature), hits: vec![], lines, subjects });
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
