//! The scan of logs, compiled. `jsdoctor.logs` has the reference in Python: both give the same rows.

pub mod absent;
pub mod counts;
pub mod hit_groups;
pub mod measure;
pub mod merged_hits;
pub mod outages;
mod pack;
pub mod patterns;
pub mod scan;
pub mod segments;
pub mod shape;
pub mod signatures;
pub mod stamp;
mod unpack;

#[cfg(feature = "python")]
mod python;
