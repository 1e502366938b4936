//! Records of capture files: where a packet is, and when it was captured.
#![forbid(unsafe_code)]

const SECOND_NS: u64 = 1_000_000_000;
const LATEST_NS: i64 = 1 << 62;
const PACKET_BLOCK: u32 = 6;
const PACKET_HEADER: usize = 28;
const LARGEST_PACKET: usize = 16 << 20;

pub struct Record {
    pub at_ns: i64,
    pub start: usize,
    pub end: usize,
    pub length: u64,
    pub interface: u32,
    /// Where the next record begins.
    pub next: usize,
}

#[derive(Clone, Copy)]
pub struct Order {
    pub big: bool,
}

impl Order {
    fn number(self, buffer: &[u8], at: usize) -> u32 {
        let bytes = [buffer[at], buffer[at + 1], buffer[at + 2], buffer[at + 3]];
        if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

/// How a pcap file writes its records.
pub struct Pcap {
    pub order: Order,
    pub unit_ns: u32,
    pub header: usize,
}

impl Pcap {
    /// The record at `at`, if all of it is there.
    pub fn record(&self, buffer: &[u8], at: usize) -> Option<Record> {
        let start = at + self.header;
        if buffer.len() < start {
            return None;
        }
        let end = start + self.order.number(buffer, at + 8) as usize;
        if end > buffer.len() {
            return None;
        }
        let seconds = u64::from(self.order.number(buffer, at)) * SECOND_NS;
        let at_ns = seconds + u64::from(self.order.number(buffer, at + 4)) * u64::from(self.unit_ns);
        let length = u64::from(self.order.number(buffer, at + 12));
        Some(Record { at_ns: at_ns as i64, start, end, length, interface: 0, next: end })
    }
}

/// The clock of an interface; None where it is none that is reckoned with here.
pub struct Clock {
    pub per_second: Option<u64>,
    pub offset_ns: Option<i64>,
}

/// A section of a pcapng file. `begins`: so many interfaces were in sections before.
pub struct Section {
    pub order: Order,
    pub begins: u32,
    pub clocks: Vec<Clock>,
}

impl Section {
    /// The enhanced packet block at `at`, if all of it is there and nothing about it is odd.
    pub fn record(&self, buffer: &[u8], at: usize) -> Option<Record> {
        if buffer.len() < at + 32 || self.order.number(buffer, at) != PACKET_BLOCK {
            return None;
        }
        let size = self.order.number(buffer, at + 4) as usize;
        if size < 32 || size & 3 != 0 || size > LARGEST_PACKET || at + size > buffer.len() {
            return None;
        }
        let interface = self.order.number(buffer, at + 8);
        let clock = self.clocks.get(interface as usize)?;
        let high = u64::from(self.order.number(buffer, at + 12));
        let ticks = high << 32 | u64::from(self.order.number(buffer, at + 16));
        let at_ns = match clock.per_second? {
            SECOND_NS => i64::try_from(ticks).ok()?,
            1_000_000 => i64::try_from(ticks).ok()?.checked_mul(1_000)?,
            per_second => {
                i64::try_from(u128::from(ticks) * u128::from(SECOND_NS) / u128::from(per_second.max(1))).ok()?
            }
        };
        let at_ns = at_ns.checked_add(clock.offset_ns?)?;
        let start = at + PACKET_HEADER;
        let end = start + self.order.number(buffer, at + 20) as usize;
        if end > at + size - 4 || !(0..LATEST_NS).contains(&at_ns) {
            return None;
        }
        let length = u64::from(self.order.number(buffer, at + 24));
        Some(Record { at_ns, start, end, length, interface: self.begins + interface, next: at + size })
    }
}
