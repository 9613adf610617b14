//! How things look: names, tables, and the formats of `dump`.

pub mod name;
pub mod table;
