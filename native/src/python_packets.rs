//! What Python sees of the walk over plain packets.

use std::collections::HashMap;
use std::hash::RandomState;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView};

use crate::packets::frame::{self, Key, Link, Segment};
use crate::packets::lane::{Added, Known, Lane};
use crate::packets::record::{Clock, Order, Pcap, Record, Section};
use crate::python_nats::PyStream;

/// Byte order, interfaces of sections before, and of each interface the ticks per second and an offset.
type SectionRow<'py> = (bool, u32, Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>);

const JUMP_NS: i64 = 2_000_000_000;
const NOBODY: u32 = u32::MAX;

/// Who reads the bytes of a direction.
enum Reader {
    Unknown,
    Nobody,
    Stream(Py<PyStream>),
    Python(Py<PyAny>),
}

struct Slot {
    state: Py<PyAny>,
    peer: u32,
    lane: Lane,
    loaded: bool,
    reader: Reader,
}

/// Next sequence number and offset, first sequence number, full packet, ack, window.
type Places = (u32, Option<i64>, i64, i64, i64, i64);
/// Equal acks, IP id, epoch, watched, busy, segments so far.
type Marks = (i64, i64, i64, bool, bool, i64);
/// End and begin of the round trip that is measured, least round trip, zero window, last packet, TSval.
type Times = (i64, i64, i64, i64, i64, i64);

impl Slot {
    /// Whether what the reference knows of this direction is here.
    fn load(&mut self, py: Python<'_>) -> PyResult<bool> {
        if self.loaded {
            return Ok(true);
        }
        let found = self.state.call_method0(py, intern!(py, "plain"))?;
        let Ok((places, marks, times)) = found.extract::<(Places, Marks, Times)>(py) else { return Ok(false) };
        let (next_seq, next_offset, isn, full, ack, window) = places;
        let (acks_same, ip_id, epoch, watched, busy, distinct) = marks;
        let (timed_end, timed_at, least_rtt, zero_since, last_at, ts_val) = times;
        self.lane.known = Known {
            next_seq,
            next_offset,
            isn,
            full,
            ack,
            window,
            acks_same,
            ip_id,
            epoch,
            watched,
            busy,
            timed_end,
            timed_at,
            least_rtt,
            zero_since,
            last_at,
            ts_val,
            distinct,
        };
        self.loaded = true;
        Ok(true)
    }

    /// Tell the reference what has changed.
    fn write_back(&mut self, py: Python<'_>) -> PyResult<()> {
        if !std::mem::take(&mut self.lane.changed) {
            return Ok(());
        }
        let (one, added) = (&self.lane.known, std::mem::take(&mut self.lane.added));
        let Added {
            packets, segments, bytes, oversized, joined, congestion_marks, id_steps, id_leaps, id_still, ..
        } = added;
        let places = (one.next_seq, one.next_offset, one.ack, one.window, one.acks_same, one.ip_id, one.epoch);
        let times = (one.watched, one.timed_end, one.timed_at, one.least_rtt, one.last_at, one.ts_val);
        let counts = (packets, segments, bytes, oversized, joined, congestion_marks, id_steps, id_leaps, id_still);
        let ring = PyList::empty(py);
        for (start, end, ip_id, ts_val, at_ns, epoch, hops) in added.ring {
            ring.append((start, end, ip_id, ts_val, at_ns, epoch, hops, false))?;
        }
        let round_trips = (added.ack_rtt.bins, added.ack_rtt.largest_ns);
        self.state.call_method1(py, intern!(py, "add_plain"), (places, times, counts, ring, round_trips))?;
        Ok(())
    }

    fn read(&mut self, walk: &Observer, py: Python<'_>, at_ns: i64, payload: &[u8], length: i64) -> PyResult<()> {
        if matches!(self.reader, Reader::Unknown) {
            self.reader = walk.reader(py, &self.state)?;
        }
        let start = self.lane.known.next_offset.unwrap_or(0) - length;
        match &self.reader {
            Reader::Stream(stream) => stream.bind(py).try_borrow_mut()?.take(py, start, at_ns, payload, length),
            Reader::Python(direction) => {
                let Some(observer) = &walk.observer else { return Ok(()) };
                let payload = PyMemoryView::from(PyBytes::new(py, payload).as_any())?;
                observer.call_method1(py, intern!(py, "data"), (direction, start, at_ns, payload, length))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Who reads along: any observer, or one that has a compiled reader for each direction.
struct Observer {
    observer: Option<Py<PyAny>>,
    compiled: bool,
}

impl Observer {
    fn reader(&self, py: Python<'_>, state: &Py<PyAny>) -> PyResult<Reader> {
        let Some(observer) = &self.observer else { return Ok(Reader::Nobody) };
        let direction = state.getattr(py, intern!(py, "direction"))?;
        if !self.compiled {
            return Ok(Reader::Python(direction));
        }
        let stream: Option<Py<PyStream>> =
            observer.call_method1(py, intern!(py, "stream"), (direction,))?.extract(py)?;
        Ok(stream.map_or(Reader::Nobody, Reader::Stream))
    }
}

/// The directions of the connections of one capture, and how far it has been read.
#[pyclass(name = "PacketWalk")]
pub struct PyWalk {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    index: HashMap<Key, u32, RandomState>,
    latest: (Option<Key>, u32),
    links: Vec<Link>,
    observer: Observer,
    frame: i64,
    tcp: i64,
    bytes: u64,
    last_at: i64,
    shift_ns: i64,
    /// Whether the times of packets can be judged here.
    timely: bool,
}

impl PyWalk {
    fn find(&mut self, key: &Key) -> Option<u32> {
        if self.latest.0 == Some(*key) {
            return Some(self.latest.1);
        }
        let found = *self.index.get(key)?;
        self.latest = (Some(*key), found);
        Some(found)
    }

    /// Take in one packet. False: it is not plain, and nothing has changed.
    fn take(&mut self, py: Python<'_>, block: &[u8], record: &Record) -> PyResult<bool> {
        let at_ns = record.at_ns - self.shift_ns;
        if at_ns < self.last_at || at_ns - self.last_at > JUMP_NS {
            return Ok(false);
        }
        let Some(&link) = self.links.get(record.interface as usize) else { return Ok(false) };
        let Some(segment) = frame::segment(link, block, record.start, record.end, record.interface) else {
            return Ok(false);
        };
        let Some(number) = self.find(&segment.key) else { return Ok(false) };
        if !self.follow(py, number as usize, &segment, at_ns)? {
            return Ok(false);
        }
        self.frame += 1;
        self.tcp += 1;
        self.bytes += record.length;
        self.last_at = at_ns;
        if segment.length > 0
            && let Some(Some(slot)) = self.slots.get_mut(number as usize)
        {
            let payload = &block[segment.payload_at.min(block.len())..];
            slot.read(&self.observer, py, at_ns, &payload[..segment.captured], segment.length)?;
        }
        Ok(true)
    }

    fn follow(&mut self, py: Python<'_>, number: usize, segment: &Segment, at_ns: i64) -> PyResult<bool> {
        let Some(peer) = self.slots[number].as_ref().map(|slot| slot.peer as usize) else { return Ok(false) };
        if peer >= self.slots.len() || peer == number {
            return Ok(false);
        }
        let (low, high) = self.slots.split_at_mut(number.max(peer));
        let (first, second) = (&mut low[number.min(peer)], &mut high[0]);
        let (one, other) = if number < peer { (first, second) } else { (second, first) };
        let (Some(one), Some(other)) = (one, other) else { return Ok(false) };
        if !one.load(py)? || !other.load(py)? {
            return Ok(false);
        }
        Ok(one.lane.follow(&mut other.lane, segment, at_ns))
    }

    /// Python looks at this direction, and may change it and its peer.
    fn lend(&mut self, py: Python<'_>, number: u32) -> PyResult<()> {
        let peer = self.slots.get(number as usize).and_then(|slot| slot.as_ref()).map_or(NOBODY, |slot| slot.peer);
        for number in [number, peer] {
            if let Some(Some(slot)) = self.slots.get_mut(number as usize) {
                slot.write_back(py)?;
                slot.loaded = false;
            }
        }
        Ok(())
    }

    fn remove(&mut self, py: Python<'_>, key: &Key) -> PyResult<Option<Py<PyAny>>> {
        let Some(number) = self.index.remove(key) else { return Ok(None) };
        self.latest = (None, 0);
        self.lend(py, number)?;
        let Some(slot) = self.slots[number as usize].take() else { return Ok(None) };
        self.free.push(number);
        if let Some(Some(peer)) = self.slots.get_mut(slot.peer as usize) {
            peer.peer = NOBODY;
        }
        Ok(Some(slot.state))
    }
}

#[pymethods]
impl PyWalk {
    /// `compiled`: the observer has a compiled reader for each direction.
    #[new]
    fn new(observer: Option<Py<PyAny>>, compiled: bool) -> Self {
        Self {
            slots: vec![],
            free: vec![],
            index: HashMap::default(),
            latest: (None, 0),
            links: vec![],
            observer: Observer { observer, compiled },
            frame: 0,
            tcp: 0,
            bytes: 0,
            last_at: 0,
            shift_ns: 0,
            timely: true,
        }
    }

    /// The direction with this key, as of the last packet.
    fn get(&mut self, py: Python<'_>, key: &[u8]) -> PyResult<Option<Py<PyAny>>> {
        let Some(number) = Key::of(key).and_then(|key| self.find(&key)) else { return Ok(None) };
        self.lend(py, number)?;
        Ok(self.slots[number as usize].as_ref().map(|slot| slot.state.clone_ref(py)))
    }

    fn __setitem__(&mut self, py: Python<'_>, key: &[u8], state: Py<PyAny>) -> PyResult<()> {
        let Some(key) = Key::of(key) else { return Ok(()) };
        self.remove(py, &key)?;
        let peer = self.index.get(&key.reverse()).copied().unwrap_or(NOBODY);
        let slot = Slot { state, peer, lane: Lane::default(), loaded: false, reader: Reader::Unknown };
        let number = if let Some(number) = self.free.pop() {
            self.slots[number as usize] = Some(slot);
            number
        } else {
            self.slots.push(Some(slot));
            (self.slots.len() - 1) as u32
        };
        self.index.insert(key, number);
        if let Some(Some(other)) = self.slots.get_mut(peer as usize) {
            other.peer = number;
        }
        Ok(())
    }

    /// It is not followed here any more.
    fn pop(&mut self, py: Python<'_>, key: &[u8], _default: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        match Key::of(key) {
            Some(key) => self.remove(py, &key),
            None => Ok(None),
        }
    }

    /// Tell the reference of all directions what it does not know.
    fn write_back(&mut self, py: Python<'_>) -> PyResult<()> {
        self.slots.iter_mut().flatten().try_for_each(|slot| slot.write_back(py))
    }

    /// The link types of the interfaces of the file, as far as they are known.
    fn interfaces(&mut self, links: Vec<u32>) {
        self.links = links.into_iter().map(Link::of).collect();
    }

    /// Packets, those of TCP, bytes on the wire, the time of the last packet.
    fn counts(&self) -> (i64, i64, u64, i64) {
        (self.frame, self.tcp, self.bytes, self.last_at)
    }

    /// Go on behind a packet that was not plain. Times that do not fit are judged by the reference.
    fn go_on(&mut self, frame: i64, tcp: i64, bytes: u64, last_at: &Bound<'_, PyAny>, shift_ns: &Bound<'_, PyAny>) {
        (self.frame, self.tcp, self.bytes) = (frame, tcp, bytes);
        let times = (last_at.extract::<i64>(), shift_ns.extract::<i64>());
        self.timely = times.0.is_ok() && times.1.as_ref().is_ok_and(|shift| shift.abs() < 1 << 61);
        (self.last_at, self.shift_ns) = (times.0.unwrap_or(0), times.1.unwrap_or(0));
    }

    /// Read on from `at` as long as packets are plain; where the first one begins that is not.
    fn pcap(
        &mut self,
        block: &Bound<'_, PyBytes>,
        mut at: usize,
        big: bool,
        unit_ns: u32,
        header: usize,
    ) -> PyResult<usize> {
        let (py, buffer, file) = (block.py(), block.as_bytes(), Pcap { order: Order { big }, unit_ns, header });
        while self.timely
            && let Some(record) = file.record(buffer, at)
            && self.take(py, buffer, &record)?
        {
            at = record.next;
        }
        Ok(at)
    }

    /// The same in a section of a pcapng file, and the time of the last packet.
    fn pcapng(
        &mut self,
        block: &Bound<'_, PyBytes>,
        mut at: usize,
        section: SectionRow<'_>,
        mut last_ns: i64,
    ) -> PyResult<(usize, i64)> {
        let (big, begins, clocks) = section;
        let clocks = clocks.into_iter();
        let clocks = clocks.map(|(per_second, offset_ns)| Clock {
            per_second: per_second.extract().ok(),
            offset_ns: offset_ns.extract().ok(),
        });
        let section = Section { order: Order { big }, begins, clocks: clocks.collect() };
        let (py, buffer) = (block.py(), block.as_bytes());
        while self.timely
            && let Some(record) = section.record(buffer, at)
            && self.take(py, buffer, &record)?
        {
            (at, last_ns) = (record.next, record.at_ns);
        }
        Ok((at, last_ns))
    }
}
