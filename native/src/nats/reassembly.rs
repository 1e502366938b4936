//! One direction of a TCP connection put in order: `jsdoctor.parse.packets.nats.reassembly`.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

const HELD_BYTES: usize = 1024 * 1024;
const HELD_SEGMENTS: usize = 4096;

/// Who reads the bytes.
pub trait Sink {
    type Error;

    fn data(&mut self, at_ns: i64, data: &[u8]) -> Result<(), Self::Error>;
    /// So many bytes were sent next and cut off by the capture, or are not in it at all.
    fn uncaptured(&mut self, at_ns: i64, length: usize) -> Result<(), Self::Error>;
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    offset: i64,
    at_ns: i64,
    wire_length: i64,
    data: Vec<u8>,
}

#[derive(Default)]
pub struct Reassembly {
    next: Option<i64>,
    held: VecDeque<Held>,
    held_bytes: usize,
    pub holes: u64,
    pub longest_hold_ns: i64,
}

impl Reassembly {
    pub fn new(start: Option<i64>) -> Self {
        Self { next: start, ..Self::default() }
    }

    /// Whether a segment simply comes next; its sink may have been given up without that being noticed.
    pub fn comes_next(&self, offset: i64, captured: usize, wire_length: i64) -> bool {
        self.next == Some(offset) && self.held.is_empty() && captured as i64 == wire_length
    }

    /// One segment in the order of the capture. `data` may be shorter than `wire_length`.
    pub fn segment<S: Sink>(
        &mut self,
        offset: i64,
        at_ns: i64,
        data: &[u8],
        wire_length: i64,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        if self.next == Some(offset) && self.held.is_empty() {
            self.next = Some(offset + wire_length);
            if !data.is_empty() {
                sink.data(at_ns, data)?;
            }
            let cut = wire_length - data.len() as i64;
            return if cut > 0 { sink.uncaptured(at_ns, cut as usize) } else { Ok(()) };
        }
        let next = *self.next.get_or_insert(offset);
        if offset > next {
            return self.hold(Held { offset, at_ns, wire_length, data: data.to_vec() }, sink);
        }
        self.pass_on(offset, at_ns, data, wire_length, sink)?;
        self.release(at_ns, sink)
    }

    /// What is missing before `end` will not come.
    pub fn lost<S: Sink>(&mut self, end: i64, sink: &mut S) -> Result<(), S::Error> {
        if self.next.is_some_and(|next| end > next) {
            self.skip_to(end, 0, sink)?;
            self.release(0, sink)?;
        }
        Ok(())
    }

    /// Nothing will come any more: pass on what waits, with its gaps.
    pub fn finish<S: Sink>(&mut self, at_ns: i64, sink: &mut S) -> Result<(), S::Error> {
        while let Some(first) = self.held.front() {
            self.skip_to(first.offset, at_ns, sink)?;
            self.release(at_ns, sink)?;
        }
        Ok(())
    }

    fn hold<S: Sink>(&mut self, held: Held, sink: &mut S) -> Result<(), S::Error> {
        let at_ns = held.at_ns;
        self.held_bytes += held.data.len();
        let place = self.held.partition_point(|known| *known <= held);
        self.held.insert(place, held);
        if self.held_bytes > HELD_BYTES || self.held.len() > HELD_SEGMENTS {
            self.skip_to(self.held[0].offset, at_ns, sink)?;
            self.release(at_ns, sink)?;
        }
        Ok(())
    }

    fn release<S: Sink>(&mut self, at_ns: i64, sink: &mut S) -> Result<(), S::Error> {
        while let Some(held) = self.held.pop_front() {
            if held.offset > self.next.unwrap_or(0) {
                self.held.push_front(held);
                break;
            }
            self.held_bytes -= held.data.len();
            self.longest_hold_ns = self.longest_hold_ns.max(at_ns - held.at_ns);
            self.pass_on(held.offset, at_ns.max(held.at_ns), &held.data, held.wire_length, sink)?;
        }
        Ok(())
    }

    /// Declare the bytes up to `offset` missing, but for those that wait.
    fn skip_to<S: Sink>(&mut self, offset: i64, at_ns: i64, sink: &mut S) -> Result<(), S::Error> {
        while let Some(first) = self.held.front().map(|held| held.offset).filter(|&first| first < offset) {
            self.gap(first, at_ns, sink)?;
            self.release(at_ns, sink)?;
        }
        self.gap(offset, at_ns, sink)
    }

    fn gap<S: Sink>(&mut self, offset: i64, at_ns: i64, sink: &mut S) -> Result<(), S::Error> {
        let Some(next) = self.next.filter(|&next| offset > next) else { return Ok(()) };
        self.next = Some(offset);
        self.holes += 1;
        sink.uncaptured(at_ns, (offset - next) as usize)
    }

    fn pass_on<S: Sink>(
        &mut self,
        offset: i64,
        at_ns: i64,
        data: &[u8],
        wire_length: i64,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let known = self.next.unwrap_or(0) - offset;
        if known >= wire_length {
            return Ok(());
        }
        self.next = Some(offset + wire_length);
        let fresh = data.get(known as usize..).unwrap_or(&[]);
        if !fresh.is_empty() {
            sink.data(at_ns, fresh)?;
        }
        let cut = wire_length - known.max(data.len() as i64);
        if cut > 0 { sink.uncaptured(at_ns, cut as usize) } else { Ok(()) }
    }
}
