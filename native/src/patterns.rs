//! What of a signature's pattern can be told without running it.
#![forbid(unsafe_code)]

/// Whether Rust's regex might read a pattern other than Python's re does: Python then looks at the lines.
pub fn is_foreign(pattern: &str) -> bool {
    if !pattern.is_ascii() {
        return true;
    }
    let bytes = pattern.as_bytes();
    let (mut at, mut class) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' if class => return true, // a set in a set, for Rust
            b'[' => {
                class = true;
                at += usize::from(bytes.get(at + 1) == Some(&b'^'));
                at += usize::from(bytes.get(at + 1) == Some(&b']'));
            }
            b']' => class = false,
            byte @ (b'&' | b'~' | b'-') if class && bytes.get(at + 1) == Some(&byte) => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// The bytes that each match begins with, at the start of the text; empty where that is not fixed.
pub fn opening(pattern: &str) -> Vec<u8> {
    let mut found = vec![];
    let Some(rest) = pattern.strip_prefix('^') else { return found };
    if has_choice(rest) {
        return found;
    }
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = match bytes[at] {
            b'\\' => match bytes.get(at + 1) {
                Some(byte) if byte.is_ascii_punctuation() => (*byte, 2),
                _ => break,
            },
            byte if b".[]($)^|*+?{}".contains(&byte) => break,
            byte => (byte, 1),
        };
        if bytes.get(at + length).is_some_and(|next| b"*?{".contains(next)) {
            break;
        }
        found.push(byte);
        if bytes.get(at + length) == Some(&b'+') {
            break;
        }
        at += length;
    }
    found
}

/// Whether there is a `|` outside of all groups.
fn has_choice(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let (mut at, mut depth, mut class) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' if !class => {
                class = true;
                at += usize::from(bytes.get(at + 1) == Some(&b'^'));
                at += usize::from(bytes.get(at + 1) == Some(&b']'));
            }
            b']' => class = false,
            b'(' if !class => depth += 1,
            b')' if !class => depth -= 1,
            b'|' if !class && depth == 0 => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings() {
        for (pattern, expected) in [
            ("^Starting nats-server", "Starting nats-server"),
            ("^Initiating Shutdown\\.\\.\\.", "Initiating Shutdown..."),
            ("^ *Restored", ""),
            ("^ab?c", "a"),
            ("^ab+c", "ab"),
            ("^ab{2}c", "a"),
            ("^abc|def", ""),
            ("^a(b)c|d", ""),
            ("^abc(d|e)", "abc"),
            ("^abc[|]d", "abc"),
            ("abc", ""),
            ("^\\d", ""),
        ] {
            assert_eq!(opening(pattern), expected.as_bytes(), "{pattern}");
        }
    }

    #[test]
    fn foreign_patterns() {
        for pattern in ["[[a]", "[a&&b]", "é", "[a--b]", "[x~~y]"] {
            assert!(is_foreign(pattern), "{pattern}");
        }
        for pattern in ["[\\[a]", "a&&b", "[]a]", "[^]a]b[c]", "\\[a[b]", "--[a-]"] {
            assert!(!is_foreign(pattern), "{pattern}");
        }
    }
}
