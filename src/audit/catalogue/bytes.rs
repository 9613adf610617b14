//! Codes on stretches of a segment that are no batch.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! bytes {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Bytes {
                TornBatch "torn-batch" Error {
                    means "The file ends inside a batch. On the last segment that is a write that a stop cut short, which a broker cuts off when it starts; on an older one records are missing."
                    comes "A kill or a power loss in the middle of an append, a copy taken while the broker wrote, or a full disk."
                    next "On the last segment nothing: it was never acknowledged by a flush. Elsewhere: 'grouplog salvage', with --also and a replica that has the records."
                }
                ZeroTail "zero-tail" Info {
                    means "Zeros up to the end of the file: space that was allocated in advance, or a file system that kept the length but lost the data after a power loss."
                    comes "Preallocated segments (log.preallocate), or a crash after which XFS or ext4 kept the file's length but not its data."
                    next "Nothing. A broker cuts them off when it starts."
                }
                ZeroHole "zero-hole" Error {
                    means "Zeros with records behind them: pages that the disk or file system lost."
                    comes "A power loss before the page cache was flushed, a failing disk, or a sparse copy of a file that was being written."
                    next "'grouplog salvage' keeps what is behind them; with --also REPLICA also what was in them. Check the disk."
                }
                BadMagic "bad-magic" Error {
                    means "The magic byte is none of 0, 1 and 2: damage, or foreign data."
                    comes "A bit that flipped, a write to the wrong place, or a file that another program wrote."
                    next "'grouplog salvage'; check the disk."
                }
                BadBatchLength "bad-batch-length" Error {
                    means "A length field that no batch can have, with sound batches behind it."
                    comes "A bit that flipped in a head, which no CRC covers there."
                    next "'grouplog salvage'; check the disk."
                }
                NotABatch "not-a-batch" Error {
                    means "Bytes that are no batch, before sound ones or the end of the file."
                    comes "A write that went to the wrong place, blocks of another file after a crash, or a copy that was put together wrongly."
                    next "'grouplog salvage'; check the disk."
                }
                FileCut "file-cut" Warning {
                    means "The file was cut while it was read: a broker is working on it."
                    comes "A broker truncated the log (a follower does when it finds another leader epoch), or cut a segment while recovering."
                    next "Run again on a copy, or when the broker is stopped."
                }
            }
        }
    };
}
