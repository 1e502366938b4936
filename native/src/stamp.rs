//! The server's own stamps: `YYYY/MM/DD hh:mm:ss.uuuuuu [`, local time with microseconds.
#![forbid(unsafe_code)]

use memchr::memchr;

/// Length of a stamp and the bracket of the level behind it.
pub const STAMP: usize = 28;
/// A stamp that ends further into a line than this is quoted text.
const WITHIN: usize = 300;
const DAY_US: i64 = 86_400_000_000;

/// The first text of a stamp's shape in a line: where it begins. `hint` is the column of the line before.
pub fn find_shape(line: &[u8], hint: usize) -> Option<usize> {
    if hint < STAMP && line.len() >= hint + STAMP && is_shape(&line[hint..hint + STAMP]) {
        return Some(hint); // no other can begin before it: stamps do not overlap
    }
    let head = &line[..line.len().min(WITHIN)];
    let mut at = 0;
    while let Some(slash) = memchr(b'/', &head[at..]) {
        let slash = at + slash;
        at = slash + 1;
        if slash >= 4 && slash + STAMP - 4 <= head.len() && is_shape(&head[slash - 4..slash - 4 + STAMP]) {
            return Some(slash - 4);
        }
    }
    None
}

const SHAPE: &[u8; 32] = b"0000/00/00 00:00:00.000000 [\0\0\0\0";
/// For each word of the shape: what carries into the high nibble of a byte that is no digit, and which bits must be 0.
const CHECKS: [(u64, u64); 4] = checks();

const fn checks() -> [(u64, u64); 4] {
    let mut out = [(0u64, 0u64); 4];
    let mut i = 0;
    while i < STAMP {
        let shift = 8 * (i % 8);
        if SHAPE[i] == b'0' {
            out[i / 8].0 |= 6u64 << shift;
            out[i / 8].1 |= 0xf0u64 << shift;
        } else {
            out[i / 8].1 |= 0xffu64 << shift;
        }
        i += 1;
    }
    out
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0u8; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

#[inline(always)]
fn is_shape(stamp: &[u8]) -> bool {
    let mut last = [0u8; 8];
    last[..4].copy_from_slice(&stamp[24..28]);
    let words = [word(stamp, 0), word(stamp, 8), word(stamp, 16), u64::from_le_bytes(last)];
    let mut bad = 0u64;
    for (i, found) in words.into_iter().enumerate() {
        let (carry, wrong) = CHECKS[i];
        let digits = found ^ word(SHAPE, 8 * i);
        // A byte that is no digit has a high nibble after the XOR, or gets one by the addition. A carry out of a byte
        // only happens where that byte is wrong already.
        bad |= (digits | digits.wrapping_add(carry)) & wrong;
    }
    bad == 0
}

#[inline(always)]
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |sum, digit| 10 * sum + i64::from(digit - b'0'))
}

/// Reads stamps; remembers the date, which rarely changes.
#[derive(Default)]
pub struct Reader {
    date: [u8; 10],
    midnight_us: Option<i64>,
}

impl Reader {
    /// Microseconds since 1970 of a text of a stamp's shape, or None when there is no such time.
    #[inline(always)]
    pub fn microseconds(&mut self, stamp: &[u8]) -> Option<i64> {
        if stamp[..10] != self.date {
            self.date.copy_from_slice(&stamp[..10]);
            self.midnight_us = midnight_us(number(&stamp[..4]), number(&stamp[5..7]), number(&stamp[8..10]));
        }
        let (hour, minute, second) = (number(&stamp[11..13]), number(&stamp[14..16]), number(&stamp[17..19]));
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let of_day = ((hour * 60 + minute) * 60 + second) * 1_000_000 + number(&stamp[20..26]);
        self.midnight_us.map(|midnight| midnight + of_day)
    }
}

fn midnight_us(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1 || !(1..=days).contains(&day) {
        return None;
    }
    // Days since 1970 in the proleptic Gregorian calendar, counted in years that begin in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    Some((era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468) * DAY_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> Option<(usize, i64)> {
        let at = find_shape(line, 0)?;
        Reader::default().microseconds(&line[at..at + STAMP]).map(|us| (at, us))
    }

    #[test]
    fn reads_a_stamp_wherever_it_stands() {
        assert_eq!(read(b"1970/01/01 00:00:00.000001 [INF]"), Some((0, 1)));
        assert_eq!(read(b"[7119] 1970/01/02 00:00:01.000000 [INF]"), Some((7, DAY_US + 1_000_000)));
        assert_eq!(read(b"pod/x/y 2026/11/21 10:05:13.354814 [DBG]"), Some((8, 1_795_255_513_354_814)));
    }

    #[test]
    fn refuses_times_that_do_not_exist() {
        for line in [
            &b"2026/02/29 10:05:13.354814 [INF]"[..],
            b"0000/01/01 10:05:13.354814 [INF]",
            b"2026/13/01 10:05:13.354814 [INF]",
            b"2026/12/00 10:05:13.354814 [INF]",
            b"2026/12/01 24:05:13.354814 [INF]",
            b"2026/12/01 10:05:60.354814 [INF]",
            b"2026/12/01 10:05:13.35481 [INF]",
        ] {
            assert_eq!(read(line), None, "{}", String::from_utf8_lossy(line));
        }
        assert!(read(b"2024/02/29 10:05:13.354814 [INF]").is_some());
    }

    #[test]
    fn every_byte_of_the_shape_counts() {
        let good = *b"2026/11/21 10:05:13.354814 [";
        for at in 0..STAMP {
            for byte in 0..=255u8 {
                let mut changed = good;
                changed[at] = byte;
                let fits = if good[at].is_ascii_digit() { byte.is_ascii_digit() } else { byte == good[at] };
                assert_eq!(is_shape(&changed), fits, "{at} {byte}");
            }
        }
    }
}
