//! MessagePack, as `jsdoctor.parse.logs.scan.rows` reads it.
#![forbid(unsafe_code)]

pub fn text(out: &mut Vec<u8>, value: &str) {
    match value.len() {
        length @ 0..32 => out.push(0xa0 | length as u8),
        length @ 32..256 => out.extend([0xd9, length as u8]),
        length => {
            out.push(0xdb);
            out.extend((length as u32).to_be_bytes());
        }
    }
    out.extend(value.as_bytes());
}

pub fn binary(out: &mut Vec<u8>, value: &[u8]) {
    out.push(0xc6);
    out.extend((value.len() as u32).to_be_bytes());
    out.extend(value);
}

pub fn whole(out: &mut Vec<u8>, value: i64) {
    if (0..128).contains(&value) {
        out.push(value as u8);
    } else {
        out.push(0xd3);
        out.extend(value.to_be_bytes());
    }
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
        out.extend((length as u32).to_be_bytes());
    }
}
