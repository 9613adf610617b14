//! Codes on batches.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! batches {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Batches {
                CrcMismatch "crc-mismatch" Error {
                    means "The bytes of a batch are not those that its CRC was made of: the disk or memory changed them."
                    comes "Bit rot, bad memory, a torn page, or an editor that changed bytes without the CRC."
                    next "'grouplog salvage' leaves the batch out and lists its keys; with --also REPLICA it takes them from there. Check the disk."
                }
                OffsetOrder "offset-order" Error {
                    means "A batch begins at or below an offset that stands before it: a damaged base offset (which no CRC covers), a sound batch that stands in another place than it was written to, or a range that was written twice."
                    comes "A bit flip in the base offset, a sector that a disk put into a wrong place, a race between two leaders (KAFKA-19407), or a range that was replayed after a power loss (KAFKA-3919)."
                    next "Compare with a replica ('grouplog diff'). 'grouplog salvage' puts back what fills a hole elsewhere, and leaves out what fits nowhere; --dry-run says which."
                }
                OffsetRange "offset-range" Error {
                    means "A batch has offsets outside of its segment's: below the number in the file's name, or at or above the next one's."
                    comes "A file that was renamed or copied from elsewhere, or a bit flip in the base offset."
                    next "'grouplog salvage'; compare with a replica ('grouplog diff')."
                }
                OffsetGap "offset-gap" Info normal {
                    means "Offsets are missing between two batches, as compaction and aborted writes leave them."
                    comes "The cleaner removed records that later ones with the same key replaced."
                    next "Nothing."
                }
                UnknownCodec "unknown-codec" Error {
                    means "A batch is compressed by a codec that no release knows."
                    comes "A newer release, or a bit flip in the attributes with a CRC made after it."
                    next "'grouplog salvage' leaves the batch out."
                    since "Codecs 0 to 4: none, gzip, snappy, lz4; zstd since 2.1."
                }
                Inflate "inflate-failed" Error {
                    means "A compressed batch does not inflate, although its CRC is right: its writer was broken, or the CRC was made after the damage."
                    comes "A client library that compresses wrongly, or memory that went bad before the CRC was made."
                    next "'grouplog salvage' keeps the records in front of the fault."
                }
                InflatedTooLarge "inflated-too-large" Error {
                    means "A compressed batch inflates to more than the limit: a decompression bomb, or a very large batch."
                    comes "A batch of many group records that compresses well, or one made to exhaust memory."
                    next "If the batch is wanted, raise --max-inflated."
                }
                Lz4Checksum "lz4-header-checksum" Error {
                    means "An lz4 frame in magic 1 or 2 has its header checksum over the wrong bytes, which brokers accept in magic 0 only: they stop at it when they start."
                    comes "Clients before 0.10 wrote the checksum wrongly (KAFKA-3160); brokers convert it only in magic 0."
                    next "'grouplog salvage' writes the batch anew."
                    since "Magic 0 up to 0.9 has it by design; an error in magic 1 (0.10) and 2 (0.11)."
                }
                CountMismatch "count-mismatch" Error {
                    means "The header counts other records than the batch holds."
                    comes "A writer other than a broker, or a head that was damaged before the CRC was made."
                    next "'grouplog salvage' writes the batch anew with the records that are there."
                    since "Magic 2 (0.11 and later)."
                }
                BadTimestamps "timestamp-mismatch" Warning {
                    means "The greatest timestamp of a batch's header is not that of its records: searches by time can miss records."
                    comes "A writer other than a broker, or a converter that did not bring the head up to date."
                    next "Nothing for this topic: no coordinator searches it by time."
                    since "Magic 1 and 2 (0.10 and later)."
                }
                EmptyBatch "empty-batch" Info normal {
                    means "A batch without records, which the cleaner keeps to remember a producer's last sequence number or the end offset."
                    comes "A cleaning that removed every record of a batch."
                    next "Nothing."
                    since "Magic 2 (0.11 and later)."
                }
                EpochOrder "leader-epoch-order" Warning {
                    means "A batch has a lower leader epoch than one before it: a damaged epoch (which no CRC covers), or logs that were put together."
                    comes "A bit flip (no CRC covers the field), or segments of two replicas put into one folder."
                    next "Compare with a replica ('grouplog diff')."
                    since "Magic 2 (0.11 and later)."
                }
                BadControlRecord "bad-control-record" Error {
                    means "A control batch whose record is no control record: a broker that stopped uncleanly does not start with it."
                    comes "A writer that sets the control bit on data, or a bit flip with a CRC made after it."
                    next "'grouplog salvage' leaves it out."
                    since "Magic 2 (0.11 and later)."
                }
                NestedWrapper "nested-wrapper" Error {
                    means "A compressed message inside a compressed message, which no writer makes."
                    comes "A program that copies compressed messages as values of compressed messages."
                    next "'grouplog salvage' leaves it out."
                    since "Magic 0 and 1 (before 0.11)."
                }
            }
        }
    };
}
