//! The log as a broker stores it: folders, segment files, batches, records.
//!
//! The way down: [`classify`] says what a path is; [`PartitionDir`] lists the segments that count; [`Segment`] maps one
//! file; [`Spans`] tiles it into batches and holes; [`Batch`] yields [`Record`]s, inflated by a reused [`Inflater`].
//!
//! Must not know: what a key or a value means, and what a group is.

pub mod batch;
pub mod build;
pub mod checkpoint;
pub mod codec;
pub mod control;
pub mod dir;
mod fields;
mod frame;
mod gzip;
pub mod headers;
pub mod index;
mod inside;
pub mod inventory;
mod legacy;
pub mod log_dir;
mod lz4;
pub mod mend;
pub mod place;
pub mod plain;
pub mod producer_state;
pub mod record;
mod resync;
pub mod scan;
pub mod segment;
pub mod side_file;
mod snappy;
mod squeeze;
mod swallow;
mod tally;

pub use batch::{Batch, Header, TimestampType};
pub use codec::{Codec, DEFAULT_MAX_INFLATED, Inflater};
pub use control::Control;
pub use dir::PartitionDir;
pub use headers::Headers;
pub use inventory::Inventory;
pub use place::{Place, classify};
pub use record::{BadRecord, LegacyFields, Record, Records};
pub use scan::{Hole, Span, Spans};
pub use segment::Segment;

#[cfg(test)]
pub(crate) mod tests {
    //! The golden vectors that unit tests share.

    use crate::bytes::put_varlong;

    macro_rules! vectors {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$doc])* pub const $name: &str = $text;)*
            pub const ALL: &[&str] = &[$($name),*];
        };
    }

    vectors! {
        /// An offset commit, value v3.
        GV1 = "0000000000000000000000630000000002de2ed8ae0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000018bcfe5680000";
        /// The same key, value v1 with an expiry.
        GV2 = "00000000000000000000006700000000028f6115570000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016a00000026000100086d792d67726f757000017400000000380001000000000000002a00000000018bcfe568000000018bd50bc40000";
        /// Value v4 with a topic id.
        GV3 = "0000000000000000000000760000000002dfa592af0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff00000001860100000026000100086d792d67726f757000017400000000540004000000000000002affffffff010000018bcfe568000100100102030405060708090a0b0c0d0e0f1000";
        /// Value v4 without.
        GV4 = "00000000000000000000006300000000024c12575e0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016200000026000100086d792d67726f757000017400000000300004000000000000002affffffff010000018bcfe568000000";
        /// An offset tombstone.
        GV5 = "00000000000000010000004b00000000025054a2b10000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000013200000026000100086d792d67726f7570000174000000000100";
        /// An empty classic group.
        GV6 = "0000000000000002000000640000000002d955472b0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016400000018000200086d792d67726f75704000030008636f6e73756d657200000007ffffffff0000018bcfe568000000000000";
        /// A transactional commit of producer 1000.
        GV7 = "00000000000000030000006300000000020578bec50010000000000000018bcfe568000000018bcfe5680000000000000003e8000300000000000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000018bcfe5680000";
        /// The COMMIT marker of producer 1000.
        GV8 = "00000000000000040000004200000000024a3ea0080030000000000000018bcfe568000000018bcfe5680000000000000003e80004ffffffff000000012000000008000000010c00000000000500";
        /// An empty batch kept by the cleaner: offsets 5 to 9.
        GV9 = "00000000000000050000003100000000028fe81c5e0000000000040000018bcfe568000000018bcfe5680000000000000003e800030000000000000000";
        /// A tombstone with a delete horizon.
        GV10 = "000000000000000a0000004b000000000266be95a00040000000000000018bd50bc4000000018bcfe56800ffffffffffffffffffffffffffff000000013200000026000100086d792d67726f7570000174000000000100";
        /// Magic 0.
        GV11 = "000000000000000000000035a1d7c5bc000000000013000000086d792d67726f757000017400000000000000140000000000000000002a00000000018bcfe56800";
        /// Magic 1.
        GV12 = "0000000000000001000000459fe701b001000000018bcfe5680000000013000100086d792d67726f7570000174000000000000001c0001000000000000002a00000000018bcfe568000000018bd50bc400";
    }

    pub fn hex(text: &str) -> Vec<u8> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap() as u8;
        text.as_bytes().chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
    }
    /// One record with one-byte deltas.
    pub fn record(offset_delta: i32, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut fields = vec![0, 0];
        for n in [i64::from(offset_delta), key.len() as i64] {
            put_varlong(&mut fields, n);
        }
        fields.extend_from_slice(key);
        put_varlong(&mut fields, value.len() as i64);
        fields.extend_from_slice(value);
        fields.push(0);
        let mut out = Vec::new();
        put_varlong(&mut out, fields.len() as i64);
        out.extend_from_slice(&fields);
        out
    }

    /// A sound magic 2 batch around a body.
    pub fn batch(base_offset: i64, codec: u8, count: i32, body: &[u8]) -> Vec<u8> {
        let mut out = base_offset.to_be_bytes().to_vec();
        out.extend_from_slice(&(49 + body.len() as i32).to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 0, 2, 0, 0, 0, 0, 0, codec]);
        out.extend_from_slice(&(count - 1).max(0).to_be_bytes());
        out.extend_from_slice(&1_700_000_000_000i64.to_be_bytes());
        out.extend_from_slice(&1_700_000_000_000i64.to_be_bytes());
        out.extend_from_slice(&[0xff; 14]);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(body);
        seal(&mut out);
        out
    }

    /// Puts the right CRC into a magic 2 batch.
    pub fn seal(batch: &mut [u8]) {
        let crc = crc32c::crc32c(&batch[21..]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
    }

    /// A message of magic 0 or 1 with the right CRC.
    pub fn message(offset: i64, magic: u8, attributes: u8, key: Option<&[u8]>, value: Option<&[u8]>) -> Vec<u8> {
        let mut covered = vec![magic, attributes];
        if magic == 1 {
            covered.extend_from_slice(&1_700_000_000_000i64.to_be_bytes());
        }
        for field in [key, value] {
            covered.extend_from_slice(&field.map_or(-1, |bytes| bytes.len() as i32).to_be_bytes());
            covered.extend_from_slice(field.unwrap_or_default());
        }
        let mut out = offset.to_be_bytes().to_vec();
        out.extend_from_slice(&(covered.len() as i32 + 4).to_be_bytes());
        out.extend_from_slice(&crc32fast::hash(&covered).to_be_bytes());
        out.extend_from_slice(&covered);
        out
    }

    /// A generator of numbers that is the same on every run.
    pub struct Dice(pub u64);

    impl Dice {
        pub fn roll(&mut self, below: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((self.0 >> 33) as usize) % below.max(1)
        }
    }
}
