//! Bytes as the compressed body of a batch.
//!
//! Must not know: what is inside.

use super::MAX_INFLATED;
use grouplog::log::{Codec, Inflater};

/// All codecs, and one that no release has.
pub const CODECS: [Codec; 6] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd, Codec::Unknown(5)];

/// Inflates them, within the limit, and the same way twice.
pub fn run(codec: Codec, body: &[u8], used: &mut Inflater) {
    let limit = used.limit();
    let (first, first_fault) = {
        let inflated = used.inflate(codec, body);
        (inflated.bytes.to_vec(), inflated.fault)
    };
    assert!(first.len() <= limit, "{} bytes beyond the limit of {limit}", first.len());
    let mut fresh = Inflater::with_limit(limit);
    let again = fresh.inflate(codec, body);
    let (length, again_length) = (first.len(), again.bytes.len());
    assert!(
        again.bytes == first && again.fault == first_fault,
        "{codec:?}: a used inflater inflates otherwise: {length} bytes, {first_fault:?}; {again_length} bytes, {:?}",
        again.fault
    );
}

/// With an inflater that has seen nothing.
pub fn fresh(codec: Codec, body: &[u8]) {
    run(codec, body, &mut Inflater::with_limit(MAX_INFLATED));
}
