//! Both sides of a connection: what their messages say. `jsdoctor.parse.packets.nats.conversation`.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::ack_subject::{Delivered, PREFIX, delivered};
use super::deliveries::DeliveryBook;
use super::durations::Durations;
use super::fifo::Fifo;
use super::headers::{nats_headers, status};
use super::heartbeats::HeartbeatTally;
use super::lines::{Listener, Reader, Upgrade, Verb};
use super::pub_ack::pub_ack;
use super::publishing::{Pending, PublishTally, PublishTracker};
use super::store_clock::StoreClockBook;
use super::words::{Words, digits};

const HEADER_BYTES: usize = 16 * 1024;
const LONGEST_ANSWER: usize = 4096;
const ACK_BYTES: usize = 8;
const QUEUES: usize = 10_000;
const SIDS: usize = 10_000;
const ADVISORIES: usize = 1_000;
const API_WAITING: usize = 5_000;
const HEARTBEAT: u16 = 100;
const NO_RESPONDERS: u16 = 503;
const MOST_DIGITS: usize = 19;
const JETSTREAM: &[u8] = b"$JS.";
const NEXT: &[u8] = b".CONSUMER.MSG.NEXT.";
const API: &[u8] = b".API.";
const ADVISORY: &[u8] = b"$JS.EVENT.ADVISORY.";
const FLOW: &[u8] = b"$JS.FC.";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    Client,
    Route,
    Gateway,
    Leaf,
}

impl Link {
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Route => "route",
            Self::Gateway => "gateway",
            Self::Leaf => "leaf",
        }
    }

    pub fn of(name: &str) -> Option<Self> {
        [Self::Client, Self::Route, Self::Gateway, Self::Leaf].into_iter().find(|link| link.name() == name)
    }
}

/// What JetStream answered to a publish, as far as it matters here.
pub struct Answer {
    pub stream: String,
    /// None where no message can have that number.
    pub seq: Option<u64>,
    pub duplicate: bool,
    pub refused: bool,
}

/// Who understands what is rare.
pub trait Host {
    type Error;
    /// What a publish expects of its stream.
    type Expected;

    fn line(&mut self, at_ns: i64, to_server: bool, verb: Verb, rest: &[u8]) -> Result<Option<Link>, Self::Error>;
    fn missed(&mut self) -> Result<(), Self::Error>;
    fn begins_frame(&mut self, data: &[u8]) -> Result<bool, Self::Error>;
    fn answer(&mut self, payload: &[u8]) -> Result<Option<Answer>, Self::Error>;
    fn expected(
        &mut self,
        subject: &[u8],
        headers: &[u8],
        length: usize,
    ) -> Result<Option<Self::Expected>, Self::Error>;
    fn stored(&mut self, expected: &Self::Expected) -> Result<(), Self::Error>;
    fn refused(
        &mut self,
        at_ns: i64,
        subject: &[u8],
        payload: &[u8],
        expected: Option<&Self::Expected>,
    ) -> Result<(), Self::Error>;
    fn api_replied(&mut self, at_ns: i64, subject: &[u8], headers: &[u8], payload: &[u8]) -> Result<(), Self::Error>;
    fn status(&mut self, at_ns: i64, code: u16, words: &[u8]) -> Result<(), Self::Error>;
    fn flow_requested(&mut self, at_ns: i64, subject: &[u8]) -> Result<(), Self::Error>;
    fn flow_stalled(&mut self, at_ns: i64, subject: &[u8]) -> Result<(), Self::Error>;
    fn flow_answered(&mut self, at_ns: i64, subject: &[u8]) -> Result<(), Self::Error>;
}

/// What the connections of a capture share.
#[derive(Default)]
pub struct Book {
    pub publishes: PublishTracker,
    pub deliveries: DeliveryBook,
    pub clock: StoreClockBook,
}

type Request = (i64, Box<[u8]>);

/// Requests to the JetStream API.
#[derive(Default)]
pub struct ApiTally {
    pub requests: u64,
    /// When, and with which subject, by the subject of the reply.
    pub waiting: Fifo<Box<[u8]>, Request>,
    pub took_ns: Durations,
}

/// What is counted of a connection.
pub struct Tallies<K> {
    number: i64,
    midstream: bool,
    pub link: Link,
    pub swapped: u64,
    pub delivered: u64,
    pub publishing: PublishTally<K>,
    pub heartbeats: HeartbeatTally,
    pub api: ApiTally,
    pub advisories: HashMap<Box<[u8]>, u64>,
    queued: HashSet<Box<[u8]>>,
    sids: HashMap<Box<[u8]>, u32>,
}

/// Whose body is wanted.
#[derive(Clone, Copy, Default)]
enum BodyOf {
    #[default]
    Answer,
    Ack,
    Status,
    Publish,
    Api,
}

/// What is remembered of the message whose body is wanted.
#[derive(Default)]
pub struct Side {
    body_of: BodyOf,
    subject: Vec<u8>,
    reply: Vec<u8>,
    sid: Vec<u8>,
    header_length: usize,
    length: usize,
    started_ns: i64,
}

pub struct Talk<K> {
    /// Towards the server, and back.
    pub readers: [Reader; 2],
    sides: [Side; 2],
    pub tallies: Tallies<K>,
}

impl<K> Talk<K> {
    pub fn new(number: i64, midstream: bool) -> Self {
        Self {
            readers: [Reader::new(!midstream), Reader::new(!midstream)],
            sides: Default::default(),
            tallies: Tallies {
                number,
                midstream,
                link: Link::Client,
                swapped: 0,
                delivered: 0,
                publishing: PublishTally::new(number),
                heartbeats: HeartbeatTally::default(),
                api: ApiTally::default(),
                advisories: HashMap::new(),
                queued: HashSet::new(),
                sids: HashMap::new(),
            },
        }
    }

    /// Bytes of one side, put in order. What comes back is not to be read as lines any more.
    pub fn data<H: Host<Expected = K>>(
        &mut self,
        side: usize,
        at_ns: i64,
        data: &[u8],
        book: &mut Book,
        host: &mut H,
    ) -> Result<Option<Upgrade>, H::Error> {
        let (reader, mut ear) = self.ear(side, book, host);
        reader.data(at_ns, data, &mut ear)?;
        Ok(reader.upgrade.take())
    }

    pub fn uncaptured<H: Host<Expected = K>>(
        &mut self,
        side: usize,
        at_ns: i64,
        length: usize,
        book: &mut Book,
        host: &mut H,
    ) -> Result<Option<Upgrade>, H::Error> {
        let (reader, mut ear) = self.ear(side, book, host);
        reader.uncaptured(at_ns, length, &mut ear)?;
        Ok(reader.upgrade.take())
    }

    pub fn lose_place<H: Host<Expected = K>>(
        &mut self,
        side: usize,
        at_ns: i64,
        book: &mut Book,
        host: &mut H,
    ) -> Result<Option<Upgrade>, H::Error> {
        let (reader, mut ear) = self.ear(side, book, host);
        reader.lose_place(at_ns, &mut ear)?;
        Ok(reader.upgrade.take())
    }

    fn ear<'a, H: Host<Expected = K>>(
        &'a mut self,
        side: usize,
        book: &'a mut Book,
        host: &'a mut H,
    ) -> (&'a mut Reader, Ear<'a, H>) {
        let ear = Ear { to_server: side == 0, side: &mut self.sides[side], talk: &mut self.tallies, book, host };
        (&mut self.readers[side], ear)
    }
}

struct Ear<'a, H: Host> {
    to_server: bool,
    side: &'a mut Side,
    talk: &'a mut Tallies<H::Expected>,
    book: &'a mut Book,
    host: &'a mut H,
}

impl<H: Host> Listener for Ear<'_, H> {
    type Error = H::Error;

    fn line(&mut self, at_ns: i64, verb: Verb, rest: &[u8]) -> Result<(), H::Error> {
        self.notice(verb);
        match verb {
            Verb::Ping | Verb::Pong | Verb::Info | Verb::Connect | Verb::Err => {
                if let Some(link) = self.host.line(at_ns, self.to_server, verb, rest)? {
                    self.talk.link = link;
                }
            }
            Verb::Sub => {
                let words = Words::of(rest);
                if words.count > 2 && self.talk.queued.len() < QUEUES {
                    self.talk.queued.insert(words.last().into());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn message(
        &mut self,
        at_ns: i64,
        verb: Verb,
        words: &Words<'_>,
        header_length: usize,
        length: usize,
    ) -> Result<usize, H::Error> {
        let usual = if self.to_server {
            matches!(verb, Verb::Pub | Verb::Hpub)
        } else {
            matches!(verb, Verb::Msg | Verb::Hmsg)
        };
        if !usual {
            self.notice(verb);
        }
        if self.talk.link != Link::Client {
            return Ok(self.between_servers(at_ns, words, header_length, length));
        }
        let subject = words.get(1).unwrap_or(b"");
        if matches!(verb, Verb::Msg | Verb::Hmsg) {
            if self.talk.publishing.waiting.contains(subject) {
                return Ok(self.want_answer(BodyOf::Answer, subject, header_length));
            }
            if self.talk.api.waiting.contains(subject) {
                return Ok(self.want_answer(BodyOf::Api, subject, header_length));
            }
            return Ok(self.deliver(at_ns, words, header_length, length));
        }
        if subject.starts_with(JETSTREAM) {
            return self.jetstream(at_ns, words, header_length, length);
        }
        let reply = words.get(2).unwrap_or(b"");
        if header_length == 0 {
            self.talk.publishing.published(subject);
            if !reply.is_empty() {
                let subject = subject.into();
                let pending = Pending { at_ns, subject, copy: None, expected: None, jetstream: false };
                self.talk.publishing.wait(reply, pending);
            }
            return Ok(0);
        }
        let side = &mut *self.side;
        side.body_of = BodyOf::Publish;
        set(&mut side.subject, subject);
        set(&mut side.reply, reply);
        (side.started_ns, side.header_length, side.length) = (at_ns, header_length, length);
        Ok(header_length.min(HEADER_BYTES))
    }

    fn body(&mut self, at_ns: i64, content: &[u8]) -> Result<(), H::Error> {
        let (headers, payload) = content.split_at(content.len().min(self.side.header_length));
        match self.side.body_of {
            BodyOf::Answer => self.answered(at_ns, headers, payload),
            BodyOf::Publish => self.published(headers),
            BodyOf::Ack => {
                if let Some(acked) = delivered(&self.side.subject) {
                    let routed = self.talk.link != Link::Client;
                    self.book.deliveries.answered(self.side.started_ns, &acked, payload, routed);
                }
                Ok(())
            }
            BodyOf::Api => {
                let (asked_ns, subject) = match self.talk.api.waiting.remove(&self.side.subject[..]) {
                    Some((_, waited)) => waited,
                    None => (at_ns, Box::default()),
                };
                self.talk.api.took_ns.add(at_ns - asked_ns);
                self.host.api_replied(at_ns, &subject, headers, payload)
            }
            BodyOf::Status => self.status(headers),
        }
    }

    fn missed(&mut self) -> Result<(), H::Error> {
        self.talk.heartbeats.forget();
        self.host.missed()
    }

    fn begins_frame(&mut self, data: &[u8]) -> Result<bool, H::Error> {
        self.host.begins_frame(data)
    }
}

impl<H: Host> Ear<'_, H> {
    /// Who speaks so: servers among themselves, a server, a client.
    fn notice(&mut self, verb: Verb) {
        let link = match verb {
            Verb::Rmsg | Verb::Route => Link::Route,
            Verb::Lmsg | Verb::Leaf => Link::Leaf,
            Verb::Gateway => Link::Gateway,
            Verb::Info | Verb::Msg | Verb::Hmsg | Verb::Err | Verb::Ok => {
                self.talk.swapped += u64::from(self.to_server);
                return;
            }
            Verb::Connect | Verb::Pub | Verb::Hpub | Verb::Sub | Verb::Unsub => {
                self.talk.swapped += u64::from(!self.to_server);
                return;
            }
            Verb::Ping | Verb::Pong => return,
        };
        if self.talk.link != Link::Gateway {
            self.talk.link = link;
        }
    }

    fn want_answer(&mut self, body_of: BodyOf, subject: &[u8], header_length: usize) -> usize {
        self.side.body_of = body_of;
        set(&mut self.side.subject, subject);
        self.side.header_length = header_length;
        header_length.min(HEADER_BYTES) + LONGEST_ANSWER
    }

    fn jetstream(
        &mut self,
        at_ns: i64,
        words: &Words<'_>,
        header_length: usize,
        length: usize,
    ) -> Result<usize, H::Error> {
        let subject = words.get(1).unwrap_or(b"");
        if subject.starts_with(PREFIX) {
            return Ok(self.ack(at_ns, subject, header_length, length));
        }
        if let Some(place) = memmem::find(subject, NEXT) {
            let names = &subject[place + NEXT.len()..];
            let dot = memchr::memchr(b'.', names);
            let stream = &names[..dot.unwrap_or(names.len())];
            self.book.deliveries.pulled(stream, dot.map_or(&[], |dot| &names[dot + 1..]));
        } else if subject.starts_with(FLOW) {
            self.host.flow_answered(at_ns, subject)?;
        } else if memmem::find(subject, API).is_some()
            && let Some(reply) = words.get(2)
        {
            let api = &mut self.talk.api;
            api.requests += 1;
            if api.waiting.len() >= API_WAITING {
                api.waiting.pop_first();
            }
            api.waiting.insert(reply.into(), (at_ns, subject.into()));
        }
        Ok(0)
    }

    fn ack(&mut self, at_ns: i64, subject: &[u8], header_length: usize, length: usize) -> usize {
        let Some(acked) = delivered(subject) else { return 0 };
        if length <= header_length {
            let routed = self.talk.link != Link::Client;
            self.book.deliveries.answered(at_ns, &acked, b"", routed);
            return 0;
        }
        self.side.body_of = BodyOf::Ack;
        set(&mut self.side.subject, subject);
        (self.side.started_ns, self.side.header_length) = (at_ns, header_length);
        header_length + ACK_BYTES
    }

    fn deliver(&mut self, at_ns: i64, words: &Words<'_>, header_length: usize, length: usize) -> usize {
        let sid = words.get(2).unwrap_or(b"");
        let reply = words.get(3);
        if let Some(reply) = reply.filter(|reply| reply.starts_with(PREFIX)) {
            self.talk.heartbeats.heard(at_ns, sid);
            self.delivered(at_ns, delivered(reply), sid);
            return 0;
        }
        if header_length > 0 && header_length == length {
            let side = &mut *self.side;
            side.body_of = BodyOf::Status;
            set(&mut side.reply, reply.unwrap_or(b""));
            set(&mut side.sid, sid);
            (side.started_ns, side.header_length) = (at_ns, header_length);
            return header_length.min(HEADER_BYTES);
        }
        if let Some(name) = words.get(1).and_then(|subject| subject.strip_prefix(ADVISORY)) {
            let advisories = &mut self.talk.advisories;
            if let Some(count) = advisories.get_mut(name) {
                *count += 1;
            } else if advisories.len() < ADVISORIES {
                advisories.insert(name.into(), 1);
            }
        }
        0
    }

    /// `[ACCOUNT] SUBJECT [REPLY]`: a reply of a delivery has the message's subject behind an @.
    fn between_servers(&mut self, at_ns: i64, words: &Words<'_>, header_length: usize, length: usize) -> usize {
        for place in 0..4 {
            let Some(word) = words.get(place + 1) else { break };
            if word.starts_with(PREFIX) {
                if word.contains(&b'@') || place > 1 || (place == 1 && self.talk.link == Link::Leaf) {
                    self.delivered(at_ns, delivered(word), b"");
                    return 0;
                }
                return self.ack(at_ns, word, header_length, length);
            }
        }
        0
    }

    fn delivered(&mut self, at_ns: i64, message: Option<Delivered<'_>>, sid: &[u8]) {
        let Some(message) = message else { return };
        let talk = &mut *self.talk;
        talk.delivered += 1;
        self.book.clock.delivered(message.stream, message.stream_seq, message.stored_ns, at_ns);
        let exclusive = !sid.is_empty() && !talk.midstream && !talk.queued.contains(sid);
        let routed = talk.link != Link::Client;
        let tally = self.book.deliveries.delivered(talk.number, at_ns, &message, routed, exclusive);
        if let Some(number) = tally.filter(|_| !sid.is_empty()) {
            if let Some(known) = talk.sids.get_mut(sid) {
                *known = number;
            } else if talk.sids.len() < SIDS {
                talk.sids.insert(sid.into(), number);
            }
        }
    }

    fn answered(&mut self, at_ns: i64, headers: &[u8], payload: &[u8]) -> Result<(), H::Error> {
        let tally = &mut self.talk.publishing;
        let Some((_, pending)) = tally.waiting.remove(&self.side.subject[..]) else { return Ok(()) };
        if !headers.is_empty() && status(headers).0 == NO_RESPONDERS {
            tally.not_responded(&pending.subject);
            return Ok(());
        }
        if let Some(answer) = pub_ack(payload) {
            tally.answered(&mut self.book.publishes, at_ns, &pending);
            if let Some(expected) = &pending.expected {
                self.host.stored(expected)?;
            }
            if answer.duplicate {
                tally.duplicate(&String::from_utf8_lossy(answer.stream), answer.seq == 0);
            } else {
                self.book.clock.stored(answer.stream, answer.seq, pending.at_ns, at_ns);
            }
            return Ok(());
        }
        let Some(answer) = self.host.answer(payload)? else { return Ok(()) };
        tally.answered(&mut self.book.publishes, at_ns, &pending);
        if answer.refused {
            return self.host.refused(at_ns, &pending.subject, payload, pending.expected.as_ref());
        }
        if let Some(expected) = &pending.expected {
            self.host.stored(expected)?;
        }
        if answer.duplicate {
            tally.duplicate(&answer.stream, answer.seq == Some(0));
        } else if let Some(seq) = answer.seq {
            self.book.clock.stored(answer.stream.as_bytes(), seq, pending.at_ns, at_ns);
        }
        Ok(())
    }

    /// A publish with headers.
    fn published(&mut self, headers: &[u8]) -> Result<(), H::Error> {
        let (side, tally) = (&*self.side, &mut self.talk.publishing);
        let (mut id, mut jetstream, mut expects) = (None, false, false);
        for (name, value) in nats_headers(headers) {
            match name {
                b"Nats-Msg-Id" => {
                    jetstream = true;
                    id.get_or_insert(value);
                }
                b"Nats-Expected-Stream" => jetstream = true,
                b"Nats-Expected-Last-Sequence" => (jetstream, expects) = (true, true),
                b"Nats-Expected-Last-Subject-Sequence" | b"Nats-Expected-Last-Msg-Id" => expects = true,
                _ => {}
            }
        }
        tally.published(&side.subject);
        let id = id.filter(|id| !id.is_empty());
        let copy = id.map(|id| tally.identified(&mut self.book.publishes, side.started_ns, &side.subject, id));
        let expected = if expects { self.host.expected(&side.subject, headers, side.length)? } else { None };
        if !side.reply.is_empty() {
            let subject = side.subject.as_slice().into();
            tally.wait(&side.reply, Pending { at_ns: side.started_ns, subject, copy, expected, jetstream });
        }
        Ok(())
    }

    /// A message that is nothing but a status.
    fn status(&mut self, headers: &[u8]) -> Result<(), H::Error> {
        let (side, heartbeats) = (&*self.side, &mut self.talk.heartbeats);
        let at_ns = side.started_ns;
        let (code, words) = status(headers);
        if code == 0 {
            return Ok(());
        }
        if code != HEARTBEAT {
            self.host.status(at_ns, code, words)?;
            heartbeats.ended(&side.sid);
            return Ok(());
        }
        if side.reply.starts_with(FLOW) {
            self.host.flow_requested(at_ns, &side.reply)?;
            heartbeats.heard(at_ns, &side.sid);
            return Ok(());
        }
        heartbeats.heartbeat(at_ns, &side.sid);
        let (mut stalled, mut last) = (None, None);
        for (name, value) in nats_headers(headers) {
            match name {
                b"Nats-Consumer-Stalled" => _ = stalled.get_or_insert(value),
                b"Nats-Last-Consumer" => _ = last.get_or_insert(value),
                _ => {}
            }
        }
        if let Some(stalled) = stalled.filter(|subject| !subject.is_empty()) {
            self.host.flow_stalled(at_ns, stalled)?;
        }
        if let Some(last) = last.and_then(|last| digits(last, MOST_DIGITS))
            && let Some(&number) = self.talk.sids.get(&side.sid[..])
        {
            self.book.deliveries.heartbeat(number, last);
        }
        Ok(())
    }
}

fn set(text: &mut Vec<u8>, bytes: &[u8]) {
    text.clear();
    text.extend_from_slice(bytes);
}
