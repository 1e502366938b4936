//! The reply subject of a JetStream delivery: `$JS.ACK.…`, as `jsdoctor.parse.packets.nats.ack_subject` describes it.
#![forbid(unsafe_code)]

use memchr::memchr_iter;

use super::words::digits;

pub const PREFIX: &[u8] = b"$JS.ACK.";
const SHORT: usize = 9;
const LONG: usize = 11;
const MOST_DIGITS: usize = 19;

pub struct Delivered<'a> {
    pub domain: &'a [u8],
    pub account_hash: &'a [u8],
    pub stream: &'a [u8],
    pub consumer: &'a [u8],
    pub attempts: u64,
    pub stream_seq: u64,
    pub consumer_seq: u64,
    pub stored_ns: u64,
}

pub fn delivered(reply: &[u8]) -> Option<Delivered<'_>> {
    let mut tokens: [&[u8]; LONG] = [&[]; LONG];
    let (mut count, mut start) = (0, 0);
    for dot in memchr_iter(b'.', reply).chain([reply.len()]) {
        if count < LONG {
            tokens[count] = &reply[start..dot];
        }
        count += 1;
        start = dot + 1;
    }
    if count == SHORT || (count > SHORT && tokens[SHORT - 1].contains(&b'@')) {
        return described(b"", b"", &tokens[2..8]);
    }
    if count >= LONG {
        let domain = if tokens[2] == b"_" { b"" } else { tokens[2] };
        return described(domain, tokens[3], &tokens[4..10]);
    }
    None
}

fn described<'a>(domain: &'a [u8], account_hash: &'a [u8], tokens: &[&'a [u8]]) -> Option<Delivered<'a>> {
    Some(Delivered {
        domain,
        account_hash,
        stream: tokens[0],
        consumer: tokens[1],
        attempts: digits(tokens[2], MOST_DIGITS)?,
        stream_seq: digits(tokens[3], MOST_DIGITS)?,
        consumer_seq: digits(tokens[4], MOST_DIGITS)?,
        stored_ns: digits(tokens[5], MOST_DIGITS)?,
    })
}
