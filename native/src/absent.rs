//! Whether a text has none of many words: some as they are, some in letters of either size.
#![forbid(unsafe_code)]

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

/// All words, ready to search.
pub struct Words {
    exact: AhoCorasick,
    of_any_case: AhoCorasick,
}

impl Words {
    pub fn new(exact: &[Vec<u8>], of_any_case: &[Vec<u8>]) -> Result<Self, BuildError> {
        let mut builder = AhoCorasick::builder();
        // Some words begin with letters that are frequent: what skips to these takes longer than to look at each byte.
        builder.kind(Some(AhoCorasickKind::DFA)).prefilter(false);
        let exact = builder.build(exact)?;
        Ok(Self { exact, of_any_case: builder.ascii_case_insensitive(true).build(of_any_case)? })
    }

    pub fn are_absent(&self, text: &[u8]) -> bool {
        !self.exact.is_match(text) && !self.of_any_case.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_absent_or_not() {
        let words = Words::new(&[b"eyJ".to_vec(), b"@".to_vec()], &[b"token".to_vec()]).expect("short words");
        assert!(words.are_absent(b"[ERR] eyj \xff refused"));
        for text in ["a@b", "eyJ", "a Token", "TOKEN"] {
            assert!(!words.are_absent(text.as_bytes()), "{text}");
        }
    }
}
