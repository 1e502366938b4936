//! Deliveries of consumers and their acks, over all connections: `jsdoctor.parse.packets.nats.deliveries`.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};

use super::ack_subject::Delivered;
use super::durations::Durations;
use super::fifo::Fifo;

const OUTSTANDING: usize = 100_000;
const CONSUMERS: usize = 10_000;
const CONNECTIONS_NAMED: usize = 8;

type Name = Box<[u8]>;

#[derive(Clone, Copy, PartialEq)]
enum Response {
    None,
    Positive,
    Negative,
}

struct Outstanding {
    before_ns: i64,
    delivered_ns: i64,
    spoken_ns: i64,
    attempts: u64,
    response: Response,
}

#[derive(Default)]
pub struct Counts {
    pub deliveries: u64,
    pub redeliveries: u64,
    pub missing: u64,
    pub restarts: u64,
    pub heartbeats: u64,
    pub heartbeats_ahead: u64,
    pub acks: u64,
    pub naks: u64,
    pub in_progress: u64,
    pub terminated: u64,
    pub acked_late: u64,
    pub not_acked: u64,
}

pub struct ConsumerTally {
    /// Whether it was seen between servers; domain, hash of the account, stream, consumer.
    pub routed: bool,
    pub names: [Name; 4],
    pub counts: Counts,
    pub connections: Vec<i64>,
    consumer_seq: u64,
    pub exclusive: bool,
    pub shared: bool,
    pub first_ns: i64,
    pub last_ns: i64,
    pub most_deliveries: u64,
    pub ack_ns: Durations,
    pub late_ns: Durations,
    pub redelivery_ns: Durations,
}

impl ConsumerTally {
    fn heard(&mut self, connection: i64, at_ns: i64, exclusive: bool) {
        self.last_ns = at_ns;
        self.exclusive &= exclusive;
        if self.connections.last() == Some(&connection) {
            return;
        }
        if self.connections.contains(&connection) {
            self.shared = true;
            return;
        }
        self.connections.push(connection);
        if self.connections.len() > CONNECTIONS_NAMED {
            self.shared = true;
            self.connections.remove(0);
        }
    }

    fn next_seq(&mut self, consumer_seq: u64) {
        if self.consumer_seq > 0 && consumer_seq > self.consumer_seq + 1 {
            self.counts.missing += consumer_seq - self.consumer_seq - 1;
        } else if consumer_seq == 1 && self.consumer_seq > 1 {
            self.counts.restarts += 1;
        }
        self.consumer_seq = consumer_seq;
    }
}

#[derive(Default)]
pub struct DeliveryBook {
    /// By name; `consumers` has what the numbers stand for.
    numbers: HashMap<Name, u32>,
    pub consumers: Vec<ConsumerTally>,
    outstanding: Fifo<(u32, u64), Outstanding>,
    /// Stream and consumer.
    pub pulled: HashSet<(Name, Name)>,
    pub omitted: u64,
    key: Vec<u8>,
}

impl DeliveryBook {
    /// Somebody asks this consumer for messages: others may, too.
    pub fn pulled(&mut self, stream: &[u8], consumer: &[u8]) {
        if self.pulled.len() < CONSUMERS {
            self.pulled.insert((stream.into(), consumer.into()));
        }
    }

    fn number(&mut self, message: &Delivered<'_>, routed: bool) -> Option<u32> {
        self.key.clear();
        self.key.push(u8::from(routed));
        for name in [message.domain, message.account_hash, message.stream, message.consumer] {
            self.key.extend_from_slice(name);
            self.key.push(b'.');
        }
        self.numbers.get(&self.key[..]).copied()
    }

    /// One delivery; the number of its consumer. `exclusive`: seen from its beginning, without a queue group.
    pub fn delivered(
        &mut self,
        connection: i64,
        at_ns: i64,
        message: &Delivered<'_>,
        routed: bool,
        exclusive: bool,
    ) -> Option<u32> {
        let number = match self.number(message, routed) {
            Some(number) => number,
            None if self.consumers.len() >= CONSUMERS => {
                self.omitted += 1;
                return None;
            }
            None => self.add(message, routed, at_ns),
        };
        let tally = &mut self.consumers[number as usize];
        tally.heard(connection, at_ns, exclusive);
        tally.counts.deliveries += 1;
        tally.most_deliveries = tally.most_deliveries.max(message.attempts);
        tally.next_seq(message.consumer_seq);
        let key = (number, message.stream_seq);
        let known = self.outstanding.get_mut(&key);
        if message.attempts > 1 {
            tally.counts.redeliveries += 1;
            match &known {
                Some(known) if known.response == Response::Positive => tally.counts.acked_late += 1,
                Some(known) if known.response == Response::None => tally.redelivery_ns.add(at_ns - known.spoken_ns),
                _ => {}
            }
        }
        if let Some(known) = known {
            known.before_ns = known.delivered_ns;
            (known.delivered_ns, known.spoken_ns) = (at_ns, at_ns);
            (known.attempts, known.response) = (message.attempts, Response::None);
        } else {
            if self.outstanding.len() >= OUTSTANDING {
                self.outstanding.pop_first();
            }
            let (before_ns, delivered_ns, spoken_ns) = (at_ns, at_ns, at_ns);
            let attempts = message.attempts;
            let fresh = Outstanding { before_ns, delivered_ns, spoken_ns, attempts, response: Response::None };
            self.outstanding.insert(key, fresh);
        }
        Some(number)
    }

    fn add(&mut self, message: &Delivered<'_>, routed: bool, at_ns: i64) -> u32 {
        let number = self.consumers.len() as u32;
        self.numbers.insert(self.key.as_slice().into(), number);
        let names = [message.domain, message.account_hash, message.stream, message.consumer];
        self.consumers.push(ConsumerTally {
            routed,
            names: names.map(Into::into),
            counts: Counts::default(),
            connections: vec![],
            consumer_seq: 0,
            exclusive: true,
            shared: false,
            first_ns: at_ns,
            last_ns: at_ns,
            most_deliveries: 0,
            ack_ns: Durations::default(),
            late_ns: Durations::default(),
            redelivery_ns: Durations::default(),
        });
        number
    }

    /// An ack of any kind; an empty one is positive.
    pub fn answered(&mut self, at_ns: i64, message: &Delivered<'_>, kind: &[u8], routed: bool) {
        let Some(number) = self.number(message, routed) else { return };
        let counts = &mut self.consumers[number as usize].counts;
        let known = self.outstanding.get_mut(&(number, message.stream_seq));
        if kind.starts_with(b"+WPI") {
            counts.in_progress += 1;
            if let Some(known) = known {
                known.spoken_ns = at_ns;
            }
            return;
        }
        let negative = kind.starts_with(b"-NAK");
        if negative {
            counts.naks += 1;
        } else if kind.starts_with(b"+TERM") {
            counts.terminated += 1;
        } else {
            counts.acks += 1;
        }
        let Some(known) = known.filter(|known| known.response == Response::None) else { return };
        let tally = &mut self.consumers[number as usize];
        if message.attempts < known.attempts {
            tally.counts.acked_late += 1;
            tally.late_ns.add(at_ns - known.before_ns);
        } else {
            known.response = if negative { Response::Negative } else { Response::Positive };
        }
        if !negative && message.attempts == known.attempts {
            tally.ack_ns.add(at_ns - known.delivered_ns);
        }
    }

    /// A heartbeat says up to which consumer sequence the server has sent.
    pub fn heartbeat(&mut self, number: u32, last_consumer_seq: u64) {
        let tally = &mut self.consumers[number as usize];
        tally.counts.heartbeats += 1;
        if last_consumer_seq > tally.consumer_seq {
            tally.counts.heartbeats_ahead += 1;
        }
    }

    /// The end: what has no answer counts as not acknowledged.
    pub fn finish(&mut self) {
        for (&(number, _), known) in self.outstanding.iter() {
            if known.response == Response::None {
                self.consumers[number as usize].counts.not_acked += 1;
            }
        }
    }
}
