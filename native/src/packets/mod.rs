//! Packets that simply come next. `jsdoctor.parse.packets` has the reference in Python, which judges all others.

pub mod frame;
pub mod lane;
pub mod record;
