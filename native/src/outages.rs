//! Takes the lines of a trouble apart into outages: after a pause, or an end between two lines, another one begins.
#![forbid(unsafe_code)]

/// What ends a trouble: sorted times, eight bytes each, and by how much they are ahead of the clock of the trouble.
pub struct Endings<'a> {
    pub times: Vec<&'a [u8]>,
    pub shift: i64,
}

/// The line that ended an outage: its time by the clock of the trouble, and the number of its `Endings::times`.
pub type End = (i64, usize);

/// The first and the last time of an outage, its lines, and what ended it.
pub type Outage = (i64, i64, i64, Option<End>);

/// What is wanted of all outages, and what tells them apart. See `outages.py`, which names the same.
pub struct Wanted {
    pub pause_us: i64,
    pub clock_us: i64,
    pub doubtful: bool,
    pub least: Option<(bool, i64)>,
}

impl Wanted {
    fn has(&self, outage: &Outage) -> bool {
        let &(began, last, _, ended) = outage;
        let length = ended.map_or(last, |(us, _)| us) - began;
        let importance = (ended.is_some(), if began < self.clock_us { 0 } else { -length });
        !(self.doubtful && ended.is_none()) && self.least.is_none_or(|least| importance <= least)
    }
}

impl Endings<'_> {
    /// The first line at or after a time.
    fn after(&self, us: i64) -> Option<End> {
        let at = us + self.shift;
        let first = |(number, times)| Some((first_from(times, at)? - self.shift, number));
        self.times.iter().copied().enumerate().filter_map(first).min()
    }
}

/// How many outages there are, and those that are wanted. `spans` are the packed numbers of a `Histogram`.
pub fn outages(spans: &[u8], endings: &Endings<'_>, wanted: &Wanted) -> (usize, Vec<Outage>) {
    let mut found = vec![];
    let mut total = 0;
    let mut take = |outage: Outage| {
        total += 1;
        if wanted.has(&outage) {
            found.push(outage);
        }
    };
    let (mut began, mut last, mut lines) = (0, 0, 0);
    let (mut ended, mut until) = (None, i64::MIN); // what ends the trouble whose last line is at this time or before
    for span in spans.chunks_exact(24) {
        let (first_us, last_us, count) = (number(span, 0), number(span, 1), number(span, 2));
        if lines > 0 {
            if last > until {
                ended = endings.after(last);
                until = ended.map_or(i64::MAX, |(us, _)| us);
            }
            if first_us - last > wanted.pause_us || ended.is_some_and(|(us, _)| us < first_us) {
                take((began, last, lines, ended));
                lines = 0;
            }
        }
        (began, last) = if lines > 0 { (began, last.max(last_us)) } else { (first_us, last_us) };
        lines += count;
    }
    if lines > 0 {
        take((began, last, lines, endings.after(last)));
    }
    (total, found)
}

fn number(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]))
}

/// The first of sorted times that is not before this one.
fn first_from(times: &[u8], us: i64) -> Option<i64> {
    let (mut low, mut high) = (0, times.len() / 8);
    while low < high {
        let middle = low.midpoint(high);
        if number(times, middle) < us {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (8 * low < times.len()).then(|| number(times, low))
}
