//! Reads over MessagePack without making anything of it.
#![forbid(unsafe_code)]

/// What is left of packed values. Each method passes one value, and is None where there is no such one.
pub struct Packed<'a>(pub &'a [u8]);

impl<'a> Packed<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(length)?;
        self.0 = left;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        self.number(bytes)?.try_into().ok()
    }

    /// A whole number.
    pub fn whole(&mut self) -> Option<i64> {
        self.number_of_any_size()?.try_into().ok()
    }

    /// A whole number that may need all 64 bits without a sign.
    pub fn number_of_any_size(&mut self) -> Option<i128> {
        let head = self.number(1)? as u8;
        match head {
            0x00..=0x7f => Some(head.into()),
            0xe0..=0xff => Some((head as i8).into()),
            0xcc..=0xcf => Some(self.number(1 << (head - 0xcc))?.into()),
            0xd0..=0xd3 => {
                let bytes = 1 << (head - 0xd0);
                let unused = 64 - 8 * bytes as u32;
                Some(((self.number(bytes)? << unused) as i64 >> unused).into())
            }
            _ => None,
        }
    }

    /// Whether nothing comes next, which is passed; anything else is not.
    pub fn nil(&mut self) -> bool {
        let rest = self.0.strip_prefix(&[0xc0]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// True or false.
    pub fn truth(&mut self) -> Option<bool> {
        match self.number(1)? {
            0xc2 => Some(false),
            0xc3 => Some(true),
            _ => None,
        }
    }

    /// Bytes.
    pub fn binary(&mut self) -> Option<&'a [u8]> {
        let head = self.number(1)? as u8;
        let length = match head {
            0xc4..=0xc6 => self.length(1 << (head - 0xc4))?,
            _ => return None,
        };
        self.take(length)
    }

    /// The head of a map with few keys: how many.
    pub fn map(&mut self) -> Option<usize> {
        let head = self.number(1)? as u8;
        (head & 0xf0 == 0x80).then_some(usize::from(head & 0x0f))
    }

    /// A text.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let head = self.number(1)? as u8;
        let length = match head {
            0xa0..=0xbf => usize::from(head & 0x1f),
            0xd9..=0xdb => self.length(1 << (head - 0xd9))?,
            _ => return None,
        };
        self.take(length)
    }

    /// The head of an array: how many values come.
    pub fn array(&mut self) -> Option<usize> {
        let head = self.number(1)? as u8;
        match head {
            0x90..=0x9f => Some(usize::from(head & 0x0f)),
            0xdc | 0xdd => self.length(if head == 0xdc { 2 } else { 4 }),
            _ => None,
        }
    }

    /// Any value. Its bytes.
    pub fn any(&mut self) -> Option<&'a [u8]> {
        let before = self.0;
        let mut left = 1_usize;
        while left > 0 {
            left -= 1;
            let head = self.number(1)? as u8;
            let (bytes, values) = match head {
                0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => (0, 0),
                0x80..=0x8f => (0, 2 * usize::from(head & 0x0f)),
                0x90..=0x9f => (0, usize::from(head & 0x0f)),
                0xa0..=0xbf => (usize::from(head & 0x1f), 0),
                0xc4..=0xc6 => (self.length(1 << (head - 0xc4))?, 0),
                0xca | 0xcb => (4 << (head - 0xca), 0),
                0xcc..=0xcf => (1 << (head - 0xcc), 0),
                0xd0..=0xd3 => (1 << (head - 0xd0), 0),
                0xd9..=0xdb => (self.length(1 << (head - 0xd9))?, 0),
                0xdc | 0xdd => (0, self.length(if head == 0xdc { 2 } else { 4 })?),
                0xde | 0xdf => (0, 2 * self.length(if head == 0xde { 2 } else { 4 })?),
                _ => return None,
            };
            self.take(bytes)?;
            left = left.checked_add(values)?;
        }
        Some(&before[..before.len() - self.0.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (packed, number) in [
            (&[0x05][..], Some(5)),
            (&[0xff], Some(-1)),
            (&[0xcc, 0xff], Some(255)),
            (&[0xcd, 1, 0], Some(256)),
            (&[0xd0, 0xff], Some(-1)),
            (&[0xd1, 0xff, 0], Some(-256)),
            (&[0xd3, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Some(i64::MAX)),
            (&[0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], None),
            (&[0xa0], None),
            (&[0xcd, 1], None),
            (&[], None),
        ] {
            assert_eq!(Packed(packed).whole(), number, "{packed:?}");
        }
    }

    #[test]
    fn values_in_a_row() {
        let bytes = [0x92, 0xa1, b'a', 0x81, 0xa1, b'b', 0xc4, 2, 7, 7, 0xd9, 1, b'c', 0xc0];
        let mut packed = Packed(&bytes);
        assert_eq!(packed.any(), Some(&bytes[..10]));
        assert_eq!(packed.text(), Some(&b"c"[..]));
        assert_eq!(packed.any(), Some(&[0xc0][..]));
        assert_eq!(packed.any(), None);
    }
}
