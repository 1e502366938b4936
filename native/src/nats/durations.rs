//! Many durations in little space: the bins of `jsdoctor.model.latency`.
#![forbid(unsafe_code)]

const FINENESS: u32 = 4;

pub fn bin_of(value: i64) -> u16 {
    let value = value.max(0) as u64;
    if value < 1 << FINENESS {
        return value as u16;
    }
    let shift = 63 - value.leading_zeros() - FINENESS;
    ((shift << FINENESS) as u64 + (value >> shift)) as u16
}

#[derive(Default)]
pub struct Durations {
    pub least_ns: i64,
    pub largest_ns: i64,
    /// Bin and count, lowest first.
    pub bins: Vec<(u16, u64)>,
}

impl Durations {
    pub fn add(&mut self, duration_ns: i64) {
        let duration_ns = duration_ns.max(0);
        if self.bins.is_empty() || duration_ns < self.least_ns {
            self.least_ns = duration_ns;
        }
        self.largest_ns = self.largest_ns.max(duration_ns);
        let bin = bin_of(duration_ns);
        match self.bins.binary_search_by_key(&bin, |&(known, _)| known) {
            Ok(at) => self.bins[at].1 += 1,
            Err(at) => self.bins.insert(at, (bin, 1)),
        }
    }

    pub fn count(&self) -> u64 {
        self.bins.iter().map(|&(_, count)| count).sum()
    }
}
