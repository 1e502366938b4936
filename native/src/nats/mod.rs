//! What NATS says in a packet capture. `jsdoctor.parse.packets.nats` has the reference in Python.

pub mod ack_subject;
pub mod deliveries;
pub mod durations;
pub mod fifo;
pub mod headers;
pub mod heartbeats;
pub mod lines;
pub mod pub_ack;
pub mod publishing;
pub mod reassembly;
pub mod store_clock;
pub mod talk;
pub mod words;
