//! One direction of a connection while its packets simply come next: `jsdoctor.parse.packets.tcp.follow`.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::frame::Segment;
use crate::nats::durations::Durations;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const URG: u8 = 32;
const SPECIAL: u8 = FIN | SYN | RST | URG;
const HALF: u32 = 0x8000_0000;
const USUAL_OPTIONS: usize = 12;
const RING: usize = 192;
const ID_PAUSE_NS: i64 = 100_000_000;
const ID_STEP: i64 = 64;
const ID_LEAP: i64 = 4096;

/// A segment as the reference remembers it: start, end, IP id, TSval, time, epoch of the ids, hops.
pub type Seen = (i64, i64, i64, i64, i64, i64, u8);

/// What the reference knew of a direction when packets began to be plain.
#[derive(Clone, Default)]
pub struct Known {
    pub next_seq: u32,
    pub next_offset: Option<i64>,
    pub isn: i64,
    pub full: i64,
    pub ack: i64,
    pub window: i64,
    pub acks_same: i64,
    pub ip_id: i64,
    pub epoch: i64,
    pub watched: bool,
    /// Whether there are holes or selective acks: an ack is then judged by the reference.
    pub busy: bool,
    pub timed_end: i64,
    pub timed_at: i64,
    pub least_rtt: i64,
    pub zero_since: i64,
    pub last_at: i64,
    pub ts_val: i64,
    pub distinct: i64,
}

/// What plain packets have added since.
#[derive(Default)]
pub struct Added {
    pub packets: i64,
    pub segments: i64,
    pub bytes: i64,
    pub oversized: i64,
    pub joined: i64,
    pub congestion_marks: i64,
    pub id_steps: i64,
    pub id_leaps: i64,
    pub id_still: i64,
    pub ack_rtt: Durations,
    pub ring: VecDeque<Seen>,
}

#[derive(Default)]
pub struct Lane {
    pub known: Known,
    pub added: Added,
    /// Whether something has changed that the reference does not know.
    pub changed: bool,
}

impl Lane {
    /// Takes in a packet of this direction. False: it is not plain, and nothing has changed.
    #[inline]
    pub fn follow(&mut self, peer: &mut Self, segment: &Segment, at_ns: i64) -> bool {
        let (one, other) = (&mut self.known, &mut peer.known);
        let Some(start) = one.next_offset else { return false };
        if segment.flags & SPECIAL != 0 || segment.seq != one.next_seq || segment.options > USUAL_OPTIONS {
            return false;
        }
        let id_step = (segment.ip_id - one.ip_id) & 0xffff;
        let news = one.ack < 0 || segment.ack != one.ack as u32;
        let forward = news && (one.ack < 0 || segment.ack.wrapping_sub(one.ack as u32) < HALF);
        if forward && let Some(end) = other.next_offset {
            let beyond = segment.ack.wrapping_sub(other.next_seq);
            if beyond != 0 && beyond < HALF {
                return false;
            }
            if other.watched && (other.busy || !other.is_timed(end, beyond)) {
                return false;
            }
        }
        if !news && segment.length == 0 && segment.window == one.window {
            let waits = other.next_offset.is_some() && other.next_seq != segment.ack && one.zero_since == 0;
            if waits || (segment.ip_id > 0 && one.ip_id >= 0 && id_step == 0) {
                return false;
            }
        }
        if segment.window != one.window && (segment.window == 0 || one.zero_since != 0) {
            return false;
        }

        self.changed = true;
        let added = &mut self.added;
        added.packets += 1;
        if segment.ip_id >= 0 {
            one.number(added, segment.ip_id, id_step, at_ns);
        }
        one.last_at = at_ns;
        one.ts_val = segment.ts_val;
        added.congestion_marks += i64::from(segment.congested);
        if forward {
            one.ack = i64::from(segment.ack);
            one.acks_same = 0;
            if other.watched
                && let Some(end) = other.next_offset
            {
                peer.changed = true;
                other.acknowledged(&mut peer.added, end, segment.ack, at_ns);
            }
        }
        one.window = segment.window;
        if segment.length > 0 {
            one.take(added, segment, start, at_ns);
        }
        true
    }
}

impl Known {
    /// Whether an ack of the peer needs no more than a look at its round trip; `beyond` is how far it is ahead.
    fn is_timed(&self, end: i64, beyond: u32) -> bool {
        let position = end + i64::from(beyond as i32);
        self.timed_at == 0 || position < self.timed_end || self.timed_end != 0 || self.isn < 0
    }

    fn acknowledged(&mut self, added: &mut Added, end: i64, ack: u32, at_ns: i64) {
        let position = end + i64::from(ack.wrapping_sub(self.next_seq) as i32);
        if self.timed_at != 0 && position >= self.timed_end {
            let took_ns = (at_ns - self.timed_at).max(1);
            self.timed_at = 0;
            added.ack_rtt.add(took_ns);
            self.least_rtt = if self.least_rtt == 0 { took_ns } else { self.least_rtt.min(took_ns) };
        }
        self.watched = self.timed_at != 0;
    }

    /// The packet's number: mostly one more than the last.
    fn number(&mut self, added: &mut Added, ip_id: i64, id_step: i64, at_ns: i64) {
        if id_step == 1 {
            added.id_steps += 1;
        } else if self.ip_id >= 0 {
            let step = if id_step >= 0x8000 { id_step - 0x1_0000 } else { id_step };
            if step == 0 {
                added.id_still += 1;
            } else {
                if -ID_LEAP < step && step < ID_LEAP {
                    added.id_steps += 1;
                } else {
                    added.id_leaps += 1;
                }
                if step.abs() > ID_STEP && at_ns - self.last_at > ID_PAUSE_NS {
                    self.epoch += 1;
                }
            }
        }
        self.ip_id = ip_id;
    }

    /// Data that comes next.
    fn take(&mut self, added: &mut Added, segment: &Segment, start: i64, at_ns: i64) {
        let (length, full) = (segment.length, self.full.max(1));
        added.segments += 1;
        added.bytes += length;
        if length > self.full {
            added.oversized += 1;
            added.joined += (length + full - 1) / full - 1;
        }
        let end = start + length;
        self.next_seq = segment.seq.wrapping_add(length as u32);
        self.next_offset = Some(end);
        self.distinct += 1;
        if added.ring.len() == RING {
            added.ring.pop_front();
        }
        added.ring.push_back((start, end, segment.ip_id, segment.ts_val, at_ns, self.epoch, segment.hops));
        if self.timed_at == 0 && (self.distinct < 64 || self.distinct & 15 == 0) {
            (self.timed_at, self.timed_end, self.watched) = (at_ns, end, true);
        }
    }
}
