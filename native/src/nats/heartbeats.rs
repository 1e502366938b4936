//! Idle heartbeats by subscription: `HeartbeatTally` of `jsdoctor.parse.packets.nats.statuses`.
#![forbid(unsafe_code)]

use super::fifo::Fifo;

const SIDS: usize = 5_000;

#[derive(Default)]
pub struct Idle {
    pub interval_ns: i64,
    pub silence_ns: i64,
    pub last_ns: i64,
}

#[derive(Default)]
pub struct HeartbeatTally {
    pub idle: Fifo<Box<[u8]>, Idle>,
    pub count: u64,
}

impl HeartbeatTally {
    pub fn heartbeat(&mut self, at_ns: i64, sid: &[u8]) {
        self.count += 1;
        if !self.idle.contains(sid) {
            if self.idle.len() >= SIDS {
                return;
            }
            self.idle.insert(sid.into(), Idle::default());
        }
        let Some(idle) = self.idle.get_mut(sid) else { return };
        if idle.last_ns != 0 {
            let passed_ns = (at_ns - idle.last_ns).max(0);
            idle.interval_ns = if idle.interval_ns == 0 { passed_ns } else { idle.interval_ns.min(passed_ns) };
            idle.silence_ns = idle.silence_ns.max(passed_ns);
        }
        idle.last_ns = at_ns;
    }

    /// Anything else on that subscription.
    pub fn heard(&mut self, at_ns: i64, sid: &[u8]) {
        if let Some(idle) = self.idle.get_mut(sid).filter(|idle| idle.last_ns != 0) {
            idle.silence_ns = idle.silence_ns.max(at_ns - idle.last_ns);
            idle.last_ns = 0;
        }
    }

    pub fn ended(&mut self, sid: &[u8]) {
        if let Some(idle) = self.idle.get_mut(sid) {
            idle.last_ns = 0;
        }
    }

    pub fn forget(&mut self) {
        if !self.idle.is_empty() {
            self.idle = Fifo::default();
        }
    }
}
