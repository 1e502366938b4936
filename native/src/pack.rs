//! MessagePack, as `jsdoctor.logs.scan.rows` reads it.
#![forbid(unsafe_code)]

use std::borrow::Cow;

/// Bytes as text. Nearly all are valid, which is seen faster than where they are not.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

pub fn text(out: &mut Vec<u8>, value: &str) {
    text_head(out, value.len());
    out.extend_from_slice(value.as_bytes());
}

/// Bytes as text. Whether they are plain ASCII is seen faster than whether they are valid.
pub fn lossy_text(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_ascii() {
        text_head(out, bytes.len());
        out.extend_from_slice(bytes);
    } else {
        text(out, &lossy(bytes));
    }
}

fn text_head(out: &mut Vec<u8>, length: usize) {
    match length {
        length @ 0..32 => out.push(0xa0 | length as u8),
        length @ 32..256 => out.extend_from_slice(&[0xd9, length as u8]),
        length => {
            out.push(0xdb);
            out.extend_from_slice(&(length as u32).to_be_bytes());
        }
    }
}

/// What comes before so many bytes.
pub fn binary_head(out: &mut Vec<u8>, length: usize) {
    out.push(0xc6);
    out.extend_from_slice(&(length as u32).to_be_bytes());
}

pub fn whole(out: &mut Vec<u8>, value: i64) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xffff_ffff => {
            out.push(0xce);
            out.extend_from_slice(&(value as u32).to_be_bytes());
        }
        _ => {
            out.push(0xd3);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

/// A whole number that may need all 64 bits without a sign.
pub fn number_of_any_size(out: &mut Vec<u8>, value: i128) {
    match i64::try_from(value) {
        Ok(value) => whole(out, value),
        Err(_) => {
            out.push(0xcf);
            out.extend_from_slice(&(value as u64).to_be_bytes());
        }
    }
}

pub fn nil(out: &mut Vec<u8>) {
    out.push(0xc0);
}

pub fn truth(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

/// The head of an array of so many values.
pub fn array(out: &mut Vec<u8>, length: usize) {
    if length < 16 {
        out.push(0x90 | length as u8);
    } else {
        out.push(0xdd);
        out.extend_from_slice(&(length as u32).to_be_bytes());
    }
}
