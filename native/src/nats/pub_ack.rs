//! Acknowledgements of publishes in the few forms that servers write. Anything else is left to Python.
#![forbid(unsafe_code)]

const LONGEST: usize = 1024;

pub struct PubAck<'a> {
    pub stream: &'a [u8],
    pub seq: u64,
    pub duplicate: bool,
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        self.blanks();
        (self.text.get(self.at) == Some(&sign)).then(|| self.at += 1)
    }

    /// A string of plain ASCII.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.sign(b'"')?;
        let start = self.at;
        loop {
            match *self.text.get(self.at)? {
                b'"' => break,
                b'\\' | 0..=0x1f | 0x7f.. => return None,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(&self.text[start..self.at - 1])
    }

    fn number(&mut self) -> Option<u64> {
        self.blanks();
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        let found = &self.text[start..self.at];
        if found.len() > 18 || (found.len() > 1 && found[0] == b'0') {
            return None;
        }
        super::words::digits(found, 18)
    }

    fn truth(&mut self) -> Option<bool> {
        self.blanks();
        let rest = &self.text[self.at..];
        let (word, found): (&[u8], bool) = if rest.starts_with(b"true") { (b"true", true) } else { (b"false", false) };
        rest.starts_with(word).then(|| {
            self.at += word.len();
            found
        })
    }
}

/// None: for Python to look at.
pub fn pub_ack(payload: &[u8]) -> Option<PubAck<'_>> {
    if payload.len() > LONGEST {
        return None;
    }
    let mut cursor = Cursor { text: payload, at: 0 };
    let mut found = PubAck { stream: b"", seq: 0, duplicate: false };
    cursor.sign(b'{')?;
    loop {
        let name = cursor.string()?;
        cursor.sign(b':')?;
        match name {
            b"stream" => found.stream = cursor.string()?,
            b"seq" => found.seq = cursor.number()?,
            b"duplicate" => found.duplicate = cursor.truth()?,
            b"domain" => _ = cursor.string()?,
            _ => return None,
        }
        if cursor.sign(b',').is_none() {
            break;
        }
    }
    cursor.sign(b'}')?;
    cursor.blanks();
    (cursor.at == payload.len() && !found.stream.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::pub_ack;

    #[test]
    fn what_servers_write() {
        let plain = pub_ack(br#"{"stream":"ORDERS", "seq":17}"#).unwrap();
        assert_eq!((plain.stream, plain.seq, plain.duplicate), (&b"ORDERS"[..], 17, false));
        let copy = pub_ack(br#"{"stream":"ORDERS","seq":17,"domain":"hub","duplicate": true}"#).unwrap();
        assert!(copy.duplicate);
    }

    #[test]
    fn anything_else_is_left_alone() {
        for text in
            [r#"{"error":{"code":503}}"#, r#"{"stream":"Ö","seq":1}"#, r#"{"stream":"A","seq":01}"#, "{}", "", "{"]
        {
            assert!(pub_ack(text.as_bytes()).is_none(), "{text}");
        }
        assert!(pub_ack(br#"{"stream":"A","seq":1}x"#).is_none());
        assert!(pub_ack(br#"{"stream":"A","seq":}"#).is_none());
    }
}
