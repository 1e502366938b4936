//! Publishes and their answers: `jsdoctor.parse.packets.nats.publishing`.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};

use super::durations::Durations;
use super::fifo::{Fifo, Place};

pub const MOST_WAITING: usize = 20_000;
const IDS: usize = 100_000;
const SUBJECTS: usize = 50_000;
const MOST_SUBJECTS: usize = 2_000;
const NAMED: usize = 5;
const EXAMPLES: usize = 5;
const RECONNECTED_NS: i64 = 1_000_000_000;
const LONGEST_NAME: usize = 128;

/// The first publish under an id.
pub struct Copy {
    at_ns: i64,
    connection: i64,
    answer_ns: Option<i64>,
}

/// What the connections of a capture share.
#[derive(Default)]
pub struct PublishTracker {
    closed: HashSet<i64>,
    copies: Fifo<Box<[u8]>, Copy>,
    families: HashSet<Box<[u8]>>,
    key: Vec<u8>,
}

/// A publish that waits for its answer. `expected` is what it expects of its stream.
pub struct Pending<K> {
    pub at_ns: i64,
    pub subject: Box<[u8]>,
    pub copy: Option<Place>,
    pub expected: Option<K>,
    pub jetstream: bool,
}

pub struct Retry {
    pub subject: Box<[u8]>,
    pub first_ns: i64,
    pub again_ns: i64,
    pub answer_ns: Option<i64>,
    pub elsewhere: bool,
}

#[derive(Default)]
pub struct Counts {
    pub messages: u64,
    pub requests: u64,
    pub identified: u64,
    pub duplicates: u64,
    pub unproven: u64,
    pub retries: u64,
    pub retries_elsewhere: u64,
    pub retries_answered: u64,
    pub no_responders: u64,
    pub unanswered: u64,
}

/// What one connection publishes.
pub struct PublishTally<K> {
    connection: i64,
    pub waiting: Fifo<Box<[u8]>, Pending<K>>,
    pub counts: Counts,
    stored_subject: Box<[u8]>,
    pub ack_ns: Durations,
    pub retry_ns: Durations,
    pub waiting_ns: Durations,
    pub examples: Vec<Retry>,
    pub duplicate_streams: Vec<String>,
    pub silent_subjects: Vec<Box<[u8]>>,
    by_subject: HashMap<Box<[u8]>, u64>,
}

fn family(subject: &[u8]) -> &[u8] {
    &subject[..memchr::memchr(b'.', subject).unwrap_or(subject.len())]
}

impl<K> PublishTally<K> {
    pub fn new(connection: i64) -> Self {
        Self {
            connection,
            waiting: Fifo::default(),
            counts: Counts::default(),
            stored_subject: Box::default(),
            ack_ns: Durations::default(),
            retry_ns: Durations::default(),
            waiting_ns: Durations::default(),
            examples: vec![],
            duplicate_streams: vec![],
            silent_subjects: vec![],
            by_subject: HashMap::new(),
        }
    }

    /// A publish; what waits for its answer follows with `wait`.
    pub fn published(&mut self, subject: &[u8]) {
        self.counts.messages += 1;
        if let Some(count) = self.by_subject.get_mut(subject) {
            *count += 1;
        } else if self.by_subject.len() < MOST_SUBJECTS {
            self.by_subject.insert(subject.into(), 1);
        }
    }

    /// It has an id: the first publish under it.
    pub fn identified(&mut self, book: &mut PublishTracker, at_ns: i64, subject: &[u8], id: &[u8]) -> Place {
        self.counts.identified += 1;
        book.key.clear();
        book.key.extend_from_slice(subject);
        book.key.push(b' ');
        book.key.extend_from_slice(id);
        if let Some(place) = book.copies.place(&book.key[..]) {
            self.retried(book, at_ns, subject, place);
            return place;
        }
        if book.copies.len() >= IDS {
            book.copies.pop_first();
        }
        let copy = Copy { at_ns, connection: self.connection, answer_ns: None };
        book.copies.insert(book.key.as_slice().into(), copy)
    }

    fn retried(&mut self, book: &mut PublishTracker, at_ns: i64, subject: &[u8], place: Place) {
        let Some(copy) = book.copies.at(place) else { return };
        let elsewhere = copy.connection != self.connection;
        if elsewhere && at_ns - copy.at_ns < RECONNECTED_NS && !book.closed.contains(&copy.connection) {
            return;
        }
        self.counts.retries += 1;
        self.counts.retries_elsewhere += u64::from(elsewhere);
        self.counts.retries_answered += u64::from(copy.answer_ns.is_some());
        self.retry_ns.add(at_ns - copy.at_ns);
        if self.examples.len() < EXAMPLES {
            let (first_ns, answer_ns) = (copy.at_ns, copy.answer_ns);
            self.examples.push(Retry { subject: subject.into(), first_ns, again_ns: at_ns, answer_ns, elsewhere });
        }
    }

    pub fn wait(&mut self, reply: &[u8], pending: Pending<K>) {
        self.counts.requests += 1;
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.pop_first();
        }
        self.waiting.insert(reply.into(), pending);
    }

    pub fn not_responded(&mut self, subject: &[u8]) {
        self.counts.no_responders += 1;
        if self.silent_subjects.len() < EXAMPLES && !self.silent_subjects.iter().any(|known| **known == *subject) {
            self.silent_subjects.push(subject.into());
        }
    }

    /// JetStream answered, with whatever.
    pub fn answered(&mut self, book: &mut PublishTracker, at_ns: i64, pending: &Pending<K>) {
        self.ack_ns.add(at_ns - pending.at_ns);
        if self.stored_subject != pending.subject {
            self.stored_subject = pending.subject.clone();
            let family = family(&pending.subject);
            if book.families.len() < SUBJECTS && !book.families.contains(family) {
                book.families.insert(family.into());
            }
        }
        if let Some(copy) = pending.copy.and_then(|place| book.copies.at(place)) {
            copy.answer_ns.get_or_insert(at_ns);
        }
    }

    pub fn duplicate(&mut self, stream: &str, unproven: bool) {
        self.counts.duplicates += 1;
        self.counts.unproven += u64::from(unproven);
        if self.duplicate_streams.len() < EXAMPLES {
            let name = shortened(stream);
            if !self.duplicate_streams.contains(&name) {
                self.duplicate_streams.push(name);
            }
        }
    }

    /// The connection or the capture ended: what still waits was not answered.
    pub fn finish(&mut self, book: &mut PublishTracker, end_ns: i64) {
        if self.counts.messages > 0 {
            book.closed.insert(self.connection);
        }
        for (_, pending) in self.waiting.iter() {
            if pending.jetstream || book.families.contains(family(&pending.subject)) {
                self.counts.unanswered += 1;
                self.waiting_ns.add(end_ns - pending.at_ns);
            }
        }
    }

    /// The subjects published to most.
    pub fn subjects(&self) -> Vec<(&[u8], u64)> {
        let mut all: Vec<(&[u8], u64)> = self.by_subject.iter().map(|(subject, &count)| (&**subject, count)).collect();
        all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        all.truncate(NAMED);
        all
    }
}

fn shortened(name: &str) -> String {
    if name.chars().nth(LONGEST_NAME).is_none() {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}
