//! Neighbouring lines of one process in a block, and how its clock went there.
#![forbid(unsafe_code)]

use rustc_hash::FxHashMap;

/// Time that goes back by less is taken for two threads that logged at once.
const STEP_US: i64 = 250_000;
/// A process that logs nothing for so long leaves a gap.
const GAP_US: i64 = 60_000_000;

/// Where the later one of two lines begins, and the stamps of both.
pub type Jump = (usize, i64, i64);

pub struct Segment {
    pub voice: u32,
    pub cut: u32,
    pub first: (i64, usize),
    pub last: (i64, usize),
    pub lowest: i64,
    pub highest: i64,
    pub lines: u64,
    pub steps: Vec<Jump>,
    pub gaps: Vec<Jump>,
}

/// The segments of one block, in the order in which they begin.
#[derive(Default)]
pub struct Segments {
    pub all: Vec<Segment>,
    latest: usize,
    known: FxHashMap<(u32, u32), usize>,
}

impl Segments {
    #[inline(always)]
    pub fn add(&mut self, voice: u32, cut: u32, us: i64, at: usize) {
        if let Some(segment) = self.all.get_mut(self.latest)
            && segment.voice == voice
            && segment.cut == cut
        {
            return segment.add(us, at);
        }
        self.add_other(voice, cut, us, at);
    }

    fn add_other(&mut self, voice: u32, cut: u32, us: i64, at: usize) {
        if let Some(&number) = self.known.get(&(voice, cut)) {
            self.latest = number;
            return self.all[number].add(us, at);
        }
        self.latest = self.all.len();
        self.known.insert((voice, cut), self.latest);
        self.all.push(Segment {
            voice,
            cut,
            first: (us, at),
            last: (us, at),
            lowest: us,
            highest: us,
            lines: 1,
            steps: vec![],
            gaps: vec![],
        });
    }
}

impl Segment {
    #[inline(always)]
    fn add(&mut self, us: i64, at: usize) {
        let before = self.last.0;
        if us - before >= GAP_US {
            self.gaps.push((at, before, us));
        } else if before - us >= STEP_US {
            self.steps.push((at, before, us));
        }
        self.last = (us, at);
        self.lowest = self.lowest.min(us);
        self.highest = self.highest.max(us);
        self.lines += 1;
    }
}
