//! Which partition of `__consumer_offsets` a group belongs to.
//!
//! Must not know: how many partitions there are; it is told.

/// How many partitions `__consumer_offsets` has unless `offsets.topic.num.partitions` says otherwise.
pub const DEFAULT_PARTITIONS: i32 = 50;

/// The partition of a group: Java's `String.hashCode` over UTF-16 units, its absolute value (0 for the smallest
/// integer), modulo the number of partitions (1 or more; less counts as 1). A group id that is not UTF-8 is taken as
/// the broker decodes it, with U+FFFD for the odd bytes.
pub fn partition_of(group: &[u8], partitions: i32) -> i32 {
    let hash = match String::from_utf8_lossy(group) {
        std::borrow::Cow::Borrowed(text) if text.is_ascii() => hash_of(text.bytes().map(u16::from)),
        text => hash_of(text.encode_utf16()),
    };
    // Kafka's abs: the smallest integer, which has no absolute value, becomes 0.
    hash.checked_abs().unwrap_or(0) % partitions.max(1)
}

fn hash_of(units: impl Iterator<Item = u16>) -> i32 {
    units.fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `cases.md` (C18, C50) and `log-format.md`: what Java gives.
    #[test]
    fn as_java_does() {
        for (group, partition) in [
            ("my-group", 12),
            ("connect-cluster", 13),
            ("schema-registry", 29),
            ("internals-classic-group", 41),
            ("internals-kip848-group", 27),
            ("test-group", 12),
            ("polygenelubricants", 0),
            ("", 0),
            ("größe", 7),
            ("группа", 8),
            ("消费组", 35),
            ("grp-🚀", 35),
        ] {
            assert_eq!(partition_of(group.as_bytes(), 50), partition, "{group}");
        }
        assert_eq!(partition_of(b"Aa", 50), partition_of(b"BB", 50));
        assert_eq!(partition_of(b"my-group", 60), 42);
    }
}
