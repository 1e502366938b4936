//! Numbers in captured values.
#![forbid(unsafe_code)]

/// What a value measures: a number, none, or Python has to read it.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Measure {
    Number(i64),
    Nothing,
    AskPython,
}

/// The common forms at once: no number, a plain whole number, one number with the unit of a duration.
pub fn measured(value: &str) -> Measure {
    let bytes = value.as_bytes();
    match bytes.first() {
        None => return Measure::Nothing,
        Some(byte) if byte.is_ascii() && !byte.is_ascii_digit() && *byte != b'-' => return Measure::Nothing,
        _ => {}
    }
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    if (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        return value.parse().map_or(Measure::AskPython, Measure::Number);
    }
    duration(value).map_or(Measure::AskPython, Measure::Number)
}

/// Nanoseconds of up to six digits, up to nine behind the point, and one unit. Python rounds half to even.
fn duration(value: &str) -> Option<i64> {
    let number = value.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, unit) = value.split_at(number);
    let unit_ns: i128 = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (number, ""),
    };
    if !(1..=6).contains(&whole.len()) || fraction.len() > 9 || fraction.contains('.') {
        return None;
    }
    let scale = 10i128.pow(fraction.len() as u32);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<i128>().ok()? };
    let scaled = (whole.parse::<i128>().ok()? * scale + fraction) * unit_ns;
    let (whole, rest) = (scaled / scale, scaled % scale);
    let up = 2 * rest > scale || (2 * rest == scale && whole % 2 == 1);
    i64::try_from(whole + i128::from(up)).ok().filter(|ns| *ns < 1 << 62)
}

#[cfg(test)]
mod tests {
    use super::Measure::{AskPython, Nothing, Number};
    use super::*;

    #[test]
    fn numbers() {
        for (value, expected) in [
            ("", Nothing),
            ("abc", Nothing),
            ("12", Number(12)),
            ("-12", Number(-12)),
            ("0007", Number(7)),
            ("-", AskPython),
            ("1,234", AskPython),
            ("1.5s", Number(1_500_000_000)),
            ("2.0000000005s", AskPython),
            ("0.5ns", Number(0)),
            ("1.5ns", Number(2)),
            ("2.500ns", Number(2)),
            ("12.345µs", Number(12_345)),
            ("1.s", AskPython),
            (".5s", Nothing),
            ("1m30s", AskPython),
            ("1.2.3s", AskPython),
            ("1 KB", AskPython),
            ("²", AskPython),
        ] {
            assert_eq!(measured(value), expected, "{value}");
        }
    }
}
