//! Plain frames: Ethernet, Linux cooked v2, loopback or raw IP; IPv4 without options, IPv6 without extensions; TCP.
#![forbid(unsafe_code)]

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const TCP: u8 = 6;
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const CONGESTION: u8 = 3;
const NOP_NOP_TIMESTAMPS: u32 = 0x0101_080a;
/// Ethernet, IPv4, TCP, and the first 8 bytes behind: timestamps are read there though their end was cut off.
const COMMON_SIZE: usize = 62;
const LONGEST_KEY: usize = 44;

/// Addresses and ports as on the wire, then the place where the packet was seen unless it is the ordinary one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    size: u8,
    bytes: [u8; LONGEST_KEY],
}

impl Key {
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let mut key = Self { size: u8::try_from(bytes.len()).ok()?, bytes: [0; LONGEST_KEY] };
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(key)
    }

    fn new(addresses: &[u8], ports: &[u8], place: (u32, u32)) -> Self {
        let mut key = Self { size: 0, bytes: [0; LONGEST_KEY] };
        for part in [addresses, ports] {
            key.push(part);
        }
        if place != (0, 0) {
            key.push(&place.0.to_be_bytes());
            key.push(&place.1.to_be_bytes());
        }
        key
    }

    fn push(&mut self, part: &[u8]) {
        let start = usize::from(self.size);
        self.bytes[start..start + part.len()].copy_from_slice(part);
        self.size += part.len() as u8;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.size)]
    }

    /// The key of the other direction at the same place.
    pub fn reverse(&self) -> Self {
        let half = if self.size < 36 { 4 } else { 16 };
        let mut other = *self;
        other.bytes[..half].copy_from_slice(&self.bytes[half..2 * half]);
        other.bytes[half..2 * half].copy_from_slice(&self.bytes[..half]);
        let ports = 2 * half;
        other.bytes[ports..ports + 2].copy_from_slice(&self.bytes[ports + 2..ports + 4]);
        other.bytes[ports + 2..ports + 4].copy_from_slice(&self.bytes[ports..ports + 2]);
        other
    }
}

/// One TCP segment as its headers say; `ip_id` and `ts_val` are -1 where there is none.
pub struct Segment {
    pub key: Key,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: i64,
    pub options: usize,
    pub payload_at: usize,
    pub captured: usize,
    pub length: i64,
    pub ip_id: i64,
    pub ts_val: i64,
    pub hops: u8,
    pub congested: bool,
}

/// How frames of an interface begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    Ethernet,
    CookedV2,
    Loopback,
    Raw,
    Other,
}

impl Link {
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::Ethernet,
            276 => Self::CookedV2,
            0 | 108 => Self::Loopback,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            _ => Self::Other,
        }
    }
}

fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([block[at], block[at + 1]])
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// The segment in `block[start..end]`; None for whatever is not plain. `interface` counts those of the file.
pub fn segment(link: Link, block: &[u8], start: usize, end: usize, interface: u32) -> Option<Segment> {
    let block = block.get(..end)?;
    let size = end.checked_sub(start)?;
    let (at, kind, own, vlan) = match link {
        Link::Ethernet if size >= 14 => match u16_at(block, start + 12) {
            ETHERTYPE_VLAN if size >= 18 => {
                let vlan = u32::from(u16_at(block, start + 14) & 0x0fff);
                (start + 18, u16_at(block, start + 16), 0, vlan)
            }
            kind => (start + 14, kind, 0, 0),
        },
        Link::CookedV2 if size >= 20 => (start + 20, u16_at(block, start), u32_at(block, start + 4), 0),
        Link::Loopback => (start + 4, 0, 0, 0),
        Link::Raw => (start, 0, 0, 0),
        _ => return None,
    };
    let version = *block.get(at)? >> 4;
    if !matches!((kind, version), (ETHERTYPE_IPV4 | 0, 4) | (ETHERTYPE_IPV6 | 0, 6)) || (kind == 0 && !is_bare(link)) {
        return None;
    }
    let place = ((interface << 16).wrapping_add(own), vlan);
    if version == 6 {
        return ipv6(block, at, place);
    }
    let common = link == Link::Ethernet && vlan == 0 && at == start + 14 && size >= COMMON_SIZE;
    ipv4(block, at, place, common)
}

fn is_bare(link: Link) -> bool {
    matches!(link, Link::Loopback | Link::Raw)
}

struct Network {
    place: (u32, u32),
    ip_end: usize,
    ip_id: i64,
    hops: u8,
    congested: bool,
    common: bool,
}

fn ipv4(block: &[u8], at: usize, place: (u32, u32), common: bool) -> Option<Segment> {
    if block.len() < at + IPV4_HEADER + TCP_HEADER || block[at] != 0x45 || block[at + 9] != TCP {
        return None;
    }
    let total = usize::from(u16_at(block, at + 2));
    if total == 0 || u16_at(block, at + 6) & 0x3fff != 0 {
        return None;
    }
    let network = Network {
        place,
        ip_end: at + total,
        ip_id: i64::from(u16_at(block, at + 4)),
        hops: block[at + 8],
        congested: block[at + 1] & CONGESTION == CONGESTION,
        common,
    };
    tcp(block, at + IPV4_HEADER, &block[at + 12..at + 20], network)
}

fn ipv6(block: &[u8], at: usize, place: (u32, u32)) -> Option<Segment> {
    if block.len() < at + IPV6_HEADER + TCP_HEADER || block[at + 6] != TCP {
        return None;
    }
    let payload = usize::from(u16_at(block, at + 4));
    if payload == 0 {
        return None;
    }
    let network = Network {
        place,
        ip_end: at + IPV6_HEADER + payload,
        ip_id: -1,
        hops: block[at + 7],
        congested: (block[at + 1] >> 4) & CONGESTION == CONGESTION,
        common: false,
    };
    tcp(block, at + IPV6_HEADER, &block[at + 8..at + 40], network)
}

fn tcp(block: &[u8], at: usize, addresses: &[u8], network: Network) -> Option<Segment> {
    let header = usize::from(block[at + 12] >> 4) * 4;
    let payload_at = at + header;
    if header < TCP_HEADER || network.ip_end < payload_at {
        return None;
    }
    let options_at = at + TCP_HEADER;
    let ts_val = if header >= 32
        && block.len() >= options_at + 8
        && u32_at(block, options_at) == NOP_NOP_TIMESTAMPS
        && (network.common || block.len() >= options_at + 12)
    {
        i64::from(u32_at(block, options_at + 4))
    } else {
        timestamp(&block[..payload_at.min(block.len())], options_at)
    };
    Some(Segment {
        key: Key::new(addresses, &block[at..at + 4], network.place),
        seq: u32_at(block, at + 4),
        ack: u32_at(block, at + 8),
        flags: block[at + 13],
        window: i64::from(u16_at(block, at + 14)),
        options: header - TCP_HEADER,
        payload_at,
        captured: block.len().min(network.ip_end).saturating_sub(payload_at),
        length: (network.ip_end - payload_at) as i64,
        ip_id: network.ip_id,
        ts_val,
        hops: network.hops,
        congested: network.congested,
    })
}

/// TSval among TCP options, or -1 (RFC 7323).
fn timestamp(options: &[u8], mut at: usize) -> i64 {
    while at < options.len() {
        match options[at] {
            0 => return -1,
            1 => at += 1,
            kind => {
                let Some(&size) = options.get(at + 1) else { return -1 };
                if kind == 8 && size == 10 && at + 10 <= options.len() {
                    return i64::from(u32_at(options, at + 2));
                }
                if size < 2 {
                    return -1;
                }
                at += usize::from(size);
            }
        }
    }
    -1
}
