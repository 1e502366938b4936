//! What Python sees of the reader of NATS.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::nats::deliveries::ConsumerTally;
use crate::nats::durations::Durations;
use crate::nats::lines::{Reader, Upgrade, Verb};
use crate::nats::reassembly::{Reassembly, Sink};
use crate::nats::talk::{Answer, Book, Host, Link, Talk};

/// What Python may rely on of the reader of packets, as `REVISION` of the scan of logs.
pub const REVISION: u32 = 1;

/// Count, least, largest, and bins with their counts.
type DurationRow = (u64, i64, i64, Vec<(u16, u64)>);
type BytesCount<'py> = (Bound<'py, PyBytes>, u64);
type RetryRow<'py> = (Bound<'py, PyBytes>, i64, i64, Option<i64>, bool);

fn row(durations: &Durations) -> DurationRow {
    (durations.count(), durations.least_ns, durations.largest_ns, durations.bins.clone())
}

struct PyHost<'py> {
    host: Bound<'py, PyAny>,
}

impl PyHost<'_> {
    fn bytes<'a>(&self, content: &'a [u8]) -> Bound<'_, PyBytes>
    where
        Self: 'a,
    {
        PyBytes::new(self.host.py(), content)
    }
}

impl Host for PyHost<'_> {
    type Error = PyErr;
    type Expected = Py<PyAny>;

    fn line(&mut self, at_ns: i64, to_server: bool, verb: Verb, rest: &[u8]) -> PyResult<Option<Link>> {
        let name = match verb {
            Verb::Ping => "PING",
            Verb::Pong => "PONG",
            Verb::Info => "INFO",
            Verb::Connect => "CONNECT",
            _ => "-ERR",
        };
        let arguments = (at_ns, to_server, name, self.bytes(rest));
        let link: Option<String> = self.host.call_method1(intern!(self.host.py(), "line"), arguments)?.extract()?;
        Ok(link.and_then(|link| Link::of(&link)))
    }

    fn missed(&mut self) -> PyResult<()> {
        self.host.call_method0(intern!(self.host.py(), "missed"))?;
        Ok(())
    }

    fn begins_frame(&mut self, data: &[u8]) -> PyResult<bool> {
        self.host.call_method1(intern!(self.host.py(), "begins_frame"), (self.bytes(data),))?.extract()
    }

    fn answer(&mut self, payload: &[u8]) -> PyResult<Option<Answer>> {
        let found = self.host.call_method1(intern!(self.host.py(), "answer"), (self.bytes(payload),))?;
        if found.is_none() {
            return Ok(None);
        }
        let (stream, seq, duplicate, refused): (String, Bound<'_, PyAny>, bool, bool) = found.extract()?;
        Ok(Some(Answer { stream, seq: seq.extract().ok(), duplicate, refused }))
    }

    fn expected(&mut self, subject: &[u8], headers: &[u8], length: usize) -> PyResult<Option<Py<PyAny>>> {
        let arguments = (self.bytes(subject), self.bytes(headers), length);
        let found = self.host.call_method1(intern!(self.host.py(), "expected"), arguments)?;
        Ok(if found.is_none() { None } else { Some(found.unbind()) })
    }

    fn stored(&mut self, expected: &Py<PyAny>) -> PyResult<()> {
        self.host.call_method1(intern!(self.host.py(), "stored"), (expected,))?;
        Ok(())
    }

    fn refused(&mut self, at_ns: i64, subject: &[u8], payload: &[u8], expected: Option<&Py<PyAny>>) -> PyResult<()> {
        let arguments = (at_ns, self.bytes(subject), self.bytes(payload), expected);
        self.host.call_method1(intern!(self.host.py(), "refused"), arguments)?;
        Ok(())
    }

    fn api_replied(&mut self, at_ns: i64, subject: &[u8], headers: &[u8], payload: &[u8]) -> PyResult<()> {
        let arguments = (at_ns, self.bytes(subject), self.bytes(headers), self.bytes(payload));
        self.host.call_method1(intern!(self.host.py(), "api_replied"), arguments)?;
        Ok(())
    }

    fn status(&mut self, at_ns: i64, code: u16, words: &[u8]) -> PyResult<()> {
        let arguments = (at_ns, code, self.bytes(words));
        self.host.call_method1(intern!(self.host.py(), "status"), arguments)?;
        Ok(())
    }

    fn flow_requested(&mut self, at_ns: i64, subject: &[u8]) -> PyResult<()> {
        self.host.call_method1(intern!(self.host.py(), "flow_requested"), (at_ns, self.bytes(subject)))?;
        Ok(())
    }

    fn flow_stalled(&mut self, at_ns: i64, subject: &[u8]) -> PyResult<()> {
        self.host.call_method1(intern!(self.host.py(), "flow_stalled"), (at_ns, self.bytes(subject)))?;
        Ok(())
    }

    fn flow_answered(&mut self, at_ns: i64, subject: &[u8]) -> PyResult<()> {
        self.host.call_method1(intern!(self.host.py(), "flow_answered"), (at_ns, self.bytes(subject)))?;
        Ok(())
    }
}

/// What the connections of a capture share.
#[pyclass(name = "NatsBook")]
#[derive(Default)]
pub struct PyBook {
    book: Book,
}

#[pymethods]
impl PyBook {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Deliveries of consumers that were not counted.
    #[getter]
    fn omitted(&self) -> u64 {
        self.book.deliveries.omitted
    }

    /// Stream and consumer of which somebody requested messages.
    fn pulled<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let pulled = &self.book.deliveries.pulled;
        pulled.iter().map(|(stream, consumer)| (PyBytes::new(py, stream), PyBytes::new(py, consumer))).collect()
    }

    /// The end of the capture: all consumers.
    fn consumers<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.book.deliveries.finish();
        self.book.deliveries.consumers.iter().map(|tally| consumer(py, tally)).collect()
    }

    /// Streams: name, lower and upper bound, messages.
    fn clocks<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, i128, Option<i128>, u64)> {
        let streams = self.book.clock.streams.iter();
        streams.map(|(name, one)| (PyBytes::new(py, name), one.low_ns, one.high_ns, one.messages)).collect()
    }
}

fn consumer<'py>(py: Python<'py>, tally: &ConsumerTally) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    let names = tally.names.each_ref().map(|name| PyBytes::new(py, name));
    found.set_item("routed", tally.routed)?;
    found.set_item("names", names.to_vec())?;
    found.set_item("connections", tally.connections.clone())?;
    found.set_item("alone", tally.exclusive && !tally.shared)?;
    found.set_item("first_ns", tally.first_ns)?;
    found.set_item("last_ns", tally.last_ns)?;
    found.set_item("most_deliveries", tally.most_deliveries)?;
    found.set_item("ack_ns", row(&tally.ack_ns))?;
    found.set_item("late_ns", row(&tally.late_ns))?;
    found.set_item("redelivery_ns", row(&tally.redelivery_ns))?;
    let (counts, one) = (PyDict::new(py), &tally.counts);
    for (name, count) in [
        ("deliveries", one.deliveries),
        ("redeliveries", one.redeliveries),
        ("missing", one.missing),
        ("restarts", one.restarts),
        ("heartbeats", one.heartbeats),
        ("heartbeats_ahead", one.heartbeats_ahead),
        ("acks", one.acks),
        ("naks", one.naks),
        ("in_progress", one.in_progress),
        ("terminated", one.terminated),
        ("acked_late", one.acked_late),
        ("not_acked", one.not_acked),
    ] {
        counts.set_item(name, count)?;
    }
    found.set_item("counts", counts)?;
    Ok(found)
}

/// Both sides of a connection. `host` understands what is rare.
#[pyclass(name = "NatsTalk")]
pub struct PyTalk {
    talk: Talk<Py<PyAny>>,
    book: Py<PyBook>,
    host: Py<PyAny>,
    midstream: bool,
    #[pyo3(get)]
    websocket: bool,
    /// Who reads frames of WebSocket, and how often that has changed.
    frames: [Option<Py<PyAny>>; 2],
    changes: [u32; 2],
}

/// The connection, what it shares with others, and who understands what is rare.
type Parts<'a, 'py> = (&'a mut Talk<Py<PyAny>>, PyRefMut<'py, PyBook>, PyHost<'py>);

/// Who reads on, when, and from which bytes on.
type Frames = Option<(Py<PyAny>, i64, Vec<u8>)>;

impl PyTalk {
    fn parts<'py>(&mut self, py: Python<'py>) -> PyResult<Parts<'_, 'py>> {
        let book = self.book.bind(py).try_borrow_mut()?;
        Ok((&mut self.talk, book, PyHost { host: self.host.bind(py).clone() }))
    }

    fn data(&mut self, py: Python<'_>, side: usize, at_ns: i64, data: &[u8]) -> PyResult<Frames> {
        let (talk, mut book, mut host) = self.parts(py)?;
        let upgrade = talk.data(side, at_ns, data, &mut book.book, &mut host)?;
        drop(book);
        self.upgraded(py, side, upgrade)
    }

    fn uncaptured(&mut self, py: Python<'_>, side: usize, at_ns: i64, length: usize) -> PyResult<Frames> {
        let (talk, mut book, mut host) = self.parts(py)?;
        let upgrade = talk.uncaptured(side, at_ns, length, &mut book.book, &mut host)?;
        drop(book);
        self.upgraded(py, side, upgrade)
    }

    fn lose_place(&mut self, py: Python<'_>, side: usize, at_ns: i64) -> PyResult<Frames> {
        let (talk, mut book, mut host) = self.parts(py)?;
        let upgrade = talk.lose_place(side, at_ns, &mut book.book, &mut host)?;
        drop(book);
        self.upgraded(py, side, upgrade)
    }

    /// From now on both sides speak in frames of WebSocket.
    fn upgraded(&mut self, py: Python<'_>, side: usize, upgrade: Option<Upgrade>) -> PyResult<Frames> {
        let Some(upgrade) = upgrade else { return Ok(None) };
        let frames = self.turn_to_frames(py, side, upgrade.synced)?;
        if self.midstream && !self.websocket {
            self.turn_to_frames(py, 1 - side, false)?;
        }
        self.websocket = true;
        Ok(Some((frames, upgrade.at_ns, upgrade.rest)).filter(|(_, _, rest)| !rest.is_empty()))
    }

    fn turn_to_frames(&mut self, py: Python<'_>, side: usize, synced: bool) -> PyResult<Py<PyAny>> {
        self.talk.readers[side] = Reader::new(synced && !self.midstream);
        self.changes[side] += 1;
        let arguments = (side == 0, self.changes[side], synced);
        let frames = self.host.call_method1(py, intern!(py, "frames"), arguments)?;
        self.frames[side] = Some(frames.clone_ref(py));
        Ok(frames)
    }
}

#[pymethods]
impl PyTalk {
    #[new]
    fn new(number: i64, midstream: bool, book: Py<PyBook>, host: Py<PyAny>) -> Self {
        let talk = Talk::new(number, midstream);
        Self { talk, book, host, midstream, websocket: false, frames: [None, None], changes: [0, 0] }
    }

    /// It is over: let go of who reads frames.
    fn release(&mut self) {
        self.frames = [None, None];
    }

    /// What a side's bytes are, how often reading had to find its place again, and lines that were not understood.
    fn reader(&self, to_server: bool) -> (&'static str, u64, u64) {
        let reader = &self.talk.readers[usize::from(!to_server)];
        (reader.content.name(), reader.resyncs, reader.bad_lines)
    }

    #[getter]
    fn link(&self) -> &'static str {
        self.talk.tallies.link.name()
    }

    #[getter]
    fn swapped(&self) -> u64 {
        self.talk.tallies.swapped
    }

    #[getter]
    fn delivered(&self) -> u64 {
        self.talk.tallies.delivered
    }

    /// The end of the connection: what was published, and how it was answered.
    fn publishing<'py>(&mut self, py: Python<'py>, end_ns: i64) -> PyResult<Bound<'py, PyDict>> {
        let (talk, mut book, _) = self.parts(py)?;
        let tally = &mut talk.tallies.publishing;
        tally.finish(&mut book.book.publishes, end_ns);
        let (found, counts, one) = (PyDict::new(py), PyDict::new(py), &tally.counts);
        for (name, count) in [
            ("messages", one.messages),
            ("requests", one.requests),
            ("identified", one.identified),
            ("duplicates", one.duplicates),
            ("unproven", one.unproven),
            ("retries", one.retries),
            ("retries_elsewhere", one.retries_elsewhere),
            ("retries_answered", one.retries_answered),
            ("no_responders", one.no_responders),
            ("unanswered", one.unanswered),
        ] {
            counts.set_item(name, count)?;
        }
        found.set_item("counts", counts)?;
        found.set_item("ack_ns", row(&tally.ack_ns))?;
        found.set_item("retry_ns", row(&tally.retry_ns))?;
        found.set_item("waiting_ns", row(&tally.waiting_ns))?;
        let retries = tally.examples.iter();
        let retries = retries
            .map(|one| (PyBytes::new(py, &one.subject), one.first_ns, one.again_ns, one.answer_ns, one.elsewhere));
        found.set_item("retries", retries.collect::<Vec<RetryRow<'py>>>())?;
        found.set_item("duplicate_streams", tally.duplicate_streams.clone())?;
        let silent = tally.silent_subjects.iter().map(|subject| PyBytes::new(py, subject));
        found.set_item("silent_subjects", silent.collect::<Vec<_>>())?;
        Ok(found)
    }

    /// The subjects published to most, with how often.
    fn subjects<'py>(&self, py: Python<'py>) -> Vec<BytesCount<'py>> {
        let subjects = self.talk.tallies.publishing.subjects();
        subjects.into_iter().map(|(subject, count)| (PyBytes::new(py, subject), count)).collect()
    }

    /// Idle heartbeats: how many, and of each subscription the interval, the longest silence, and the last one.
    fn heartbeats(&self) -> (u64, Vec<(i64, i64, i64)>) {
        let tally = &self.talk.tallies.heartbeats;
        (tally.count, tally.idle.iter().map(|(_, idle)| (idle.interval_ns, idle.silence_ns, idle.last_ns)).collect())
    }

    /// Requests to the API: how many, how many wait, and how long the others took.
    fn api(&self) -> (u64, usize, DurationRow) {
        let api = &self.talk.tallies.api;
        (api.requests, api.waiting.len(), row(&api.took_ns))
    }

    /// Advisories by kind, with how often.
    fn advisories<'py>(&self, py: Python<'py>) -> Vec<BytesCount<'py>> {
        let advisories = self.talk.tallies.advisories.iter();
        advisories.map(|(name, &count)| (PyBytes::new(py, name), count)).collect()
    }
}

/// The lines inside of frames of WebSocket, until these are read anew.
#[pyclass(frozen, name = "NatsLines")]
pub struct PyLines {
    talk: Py<PyTalk>,
    side: usize,
    change: u32,
}

impl PyLines {
    fn read(&self, py: Python<'_>, read: impl FnOnce(&mut PyTalk) -> PyResult<Frames>) -> PyResult<()> {
        let frames = {
            let mut talk = self.talk.bind(py).try_borrow_mut()?;
            if talk.changes[self.side] != self.change {
                return Ok(());
            }
            read(&mut talk)?
        };
        pass_on(py, frames)
    }
}

#[pymethods]
impl PyLines {
    #[new]
    fn new(talk: Py<PyTalk>, to_server: bool, change: u32) -> Self {
        Self { talk, side: usize::from(!to_server), change }
    }

    #[getter]
    fn readable(&self, py: Python<'_>) -> PyResult<bool> {
        let talk = self.talk.bind(py).try_borrow()?;
        Ok(talk.changes[self.side] == self.change && talk.talk.readers[self.side].readable)
    }

    fn data(&self, py: Python<'_>, at_ns: i64, data: &[u8]) -> PyResult<()> {
        self.read(py, |talk| talk.data(py, self.side, at_ns, data))
    }

    fn uncaptured(&self, py: Python<'_>, at_ns: i64, length: usize) -> PyResult<()> {
        self.read(py, |talk| talk.uncaptured(py, self.side, at_ns, length))
    }

    fn lose_place(&self, py: Python<'_>, at_ns: i64) -> PyResult<()> {
        self.read(py, |talk| talk.lose_place(py, self.side, at_ns))
    }
}

fn pass_on(py: Python<'_>, frames: Frames) -> PyResult<()> {
    if let Some((frames, at_ns, rest)) = frames {
        frames.call_method1(py, intern!(py, "data"), (at_ns, PyBytes::new(py, &rest)))?;
    }
    Ok(())
}

struct PySink<'a, 'py> {
    talk: &'a Bound<'py, PyTalk>,
    side: usize,
}

impl PySink<'_, '_> {
    fn frames(&self) -> PyResult<Option<Py<PyAny>>> {
        let talk = self.talk.try_borrow()?;
        Ok(talk.frames[self.side].as_ref().map(|frames| frames.clone_ref(self.talk.py())))
    }
}

impl Sink for PySink<'_, '_> {
    type Error = PyErr;

    fn data(&mut self, at_ns: i64, data: &[u8]) -> PyResult<()> {
        let py = self.talk.py();
        if let Some(frames) = self.frames()? {
            frames.call_method1(py, intern!(py, "data"), (at_ns, PyBytes::new(py, data)))?;
            return Ok(());
        }
        let frames = self.talk.try_borrow_mut()?.data(py, self.side, at_ns, data)?;
        pass_on(py, frames)
    }

    fn uncaptured(&mut self, at_ns: i64, length: usize) -> PyResult<()> {
        let py = self.talk.py();
        if let Some(frames) = self.frames()? {
            frames.call_method1(py, intern!(py, "uncaptured"), (at_ns, length))?;
            return Ok(());
        }
        let frames = self.talk.try_borrow_mut()?.uncaptured(py, self.side, at_ns, length)?;
        pass_on(py, frames)
    }
}

/// The bytes of one side, in any order.
#[pyclass(name = "NatsStream")]
pub struct PyStream {
    talk: Py<PyTalk>,
    side: usize,
    bytes: Reassembly,
}

impl PyStream {
    pub fn take(&mut self, py: Python<'_>, offset: i64, at_ns: i64, data: &[u8], length: i64) -> PyResult<()> {
        let talk = self.talk.bind(py);
        let mut sink = PySink { talk, side: self.side };
        if self.bytes.comes_next(offset, data.len(), length) || talk.try_borrow()?.talk.readers[self.side].readable {
            self.bytes.segment(offset, at_ns, data, length, &mut sink)?;
        }
        Ok(())
    }
}

#[pymethods]
impl PyStream {
    #[new]
    fn new(talk: Py<PyTalk>, to_server: bool, start: Option<i64>) -> Self {
        Self { talk, side: usize::from(!to_server), bytes: Reassembly::new(start) }
    }

    /// One segment, of which `data` was captured.
    fn segment(&mut self, py: Python<'_>, offset: i64, at_ns: i64, data: &[u8], length: i64) -> PyResult<()> {
        self.take(py, offset, at_ns, data, length)
    }

    /// What is missing before `end` will not come.
    fn lost(&mut self, py: Python<'_>, end: i64) -> PyResult<()> {
        let talk = self.talk.bind(py);
        if talk.try_borrow()?.talk.readers[self.side].readable {
            self.bytes.lost(end, &mut PySink { talk, side: self.side })?;
        }
        Ok(())
    }

    /// Nothing will come any more.
    fn finish(&mut self, py: Python<'_>, at_ns: i64) -> PyResult<()> {
        self.bytes.finish(at_ns, &mut PySink { talk: self.talk.bind(py), side: self.side })
    }

    #[getter]
    fn holes(&self) -> u64 {
        self.bytes.holes
    }

    #[getter]
    fn longest_hold_ns(&self) -> i64 {
        self.bytes.longest_hold_ns
    }
}
