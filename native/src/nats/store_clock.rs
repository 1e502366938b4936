//! The clock that dates stored messages against that of the capture: `jsdoctor.parse.packets.nats.store_clock`.
#![forbid(unsafe_code)]

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::fifo::Fifo;

const KEPT: usize = 50_000;
const STREAMS: usize = 1_000;

pub struct Bounds {
    pub low_ns: i128,
    pub high_ns: Option<i128>,
    pub messages: u64,
}

/// Stream and sequence.
type Message = (Arc<[u8]>, u64);
/// When it was published, and when acknowledged.
type Times = (i64, i64);

struct News {
    stream: Arc<[u8]>,
    seq: u64,
    times: Times,
}

#[derive(Default)]
pub struct StoreClockBook {
    latest: Option<Arc<[u8]>>,
    news: VecDeque<News>,
    stored: Fifo<Message, Times>,
    pub streams: HashMap<Arc<[u8]>, Bounds>,
}

impl StoreClockBook {
    fn name(&mut self, stream: &[u8]) -> Arc<[u8]> {
        match &self.latest {
            Some(known) if known[..] == *stream => Arc::clone(known),
            _ => {
                let name: Arc<[u8]> = stream.into();
                self.latest = Some(Arc::clone(&name));
                name
            }
        }
    }

    /// A publish and its first acknowledgement were both seen. Only a delivery asks for them: until one does they wait.
    pub fn stored(&mut self, stream: &[u8], seq: u64, published_ns: i64, acknowledged_ns: i64) {
        if self.news.len() == KEPT {
            self.news.pop_front();
        }
        let stream = self.name(stream);
        self.news.push_back(News { stream, seq, times: (published_ns, acknowledged_ns) });
    }

    fn sort_in(&mut self) {
        for one in self.news.drain(..) {
            if self.stored.len() >= KEPT {
                self.stored.pop_first();
            }
            self.stored.insert((one.stream, one.seq), one.times);
        }
    }

    /// A delivery says when the message was stored.
    pub fn delivered(&mut self, stream: &[u8], seq: u64, stored_ns: u64, at_ns: i64) {
        self.sort_in();
        let name = self.name(stream);
        if !self.streams.contains_key(&name) && self.streams.len() >= STREAMS {
            return;
        }
        let key = (name, seq);
        let seen = self.stored.remove(&key).map(|(_, times)| times);
        let stored_ns = i128::from(stored_ns);
        let low_ns = stored_ns - i128::from(seen.map_or(at_ns, |(_, acknowledged_ns)| acknowledged_ns.min(at_ns)));
        let bounds = self.streams.entry(key.0).or_insert(Bounds { low_ns, high_ns: None, messages: 0 });
        bounds.low_ns = bounds.low_ns.max(low_ns);
        bounds.messages += 1;
        if let Some((published_ns, _)) = seen {
            let high_ns = stored_ns - i128::from(published_ns);
            bounds.high_ns = Some(bounds.high_ns.map_or(high_ns, |known| known.min(high_ns)));
        }
    }
}
