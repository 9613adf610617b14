//! What the bytes of keys, values and the payloads inside them mean.

pub mod embedded;
