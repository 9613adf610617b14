//! Codes on single records, and what damage took of them.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! records {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Records {
                BadRecord "bad-record" Error {
                    means "A record whose fields do not fit its length, in a batch whose CRC is right: its writer was broken."
                    comes "A client or tool that encodes records wrongly."
                    next "'grouplog salvage' leaves it out and keeps the batch's others."
                }
                NullKey "null-key" Error {
                    means "A record without a key: no broker loads the partition while it is there."
                    comes "A mirror, a restore tool or a console producer that writes to __consumer_offsets. The cleaner drops such records, but not from the active segment."
                    next "'grouplog salvage --drop-unloadable 4.4' takes it out. Find who writes to this topic."
                    since "Every release: the old coordinator then serves the partition as empty (up to 3.9), the new one refuses it."
                }
                BadKey "bad-key" Error {
                    means "A key that cannot be decoded: no broker that knows its type loads the partition."
                    comes "A tool that produces into __consumer_offsets by itself."
                    next "'grouplog salvage --drop-unloadable 4.4' takes it out."
                    since "Every release."
                }
                BadValue "bad-value" Error {
                    means "A value that cannot be decoded: no broker that knows its type loads the partition."
                    comes "A tool that produces into __consumer_offsets, an early-access release, or a value of length 0, which is no tombstone."
                    next "'grouplog verify --broker X.Y' says what your release does with it; 'grouplog salvage --drop-unloadable X.Y' takes it out."
                    since "Every release."
                }
                UnknownVersion "unknown-version" Error {
                    means "A value of a version that this release of grouplog does not know: written by a newer broker. Older ones do not load it."
                    comes "A downgrade after a newer release wrote."
                    next "'grouplog verify --broker X.Y' says what your release does with it."
                    since "Offset value 4 is read from 3.4 on (KIP-915)."
                }
                UnknownType "unknown-type" Info {
                    means "A record of a type that this release of grouplog does not know: written by a newer broker. Older ones skip it."
                    comes "A downgrade after a newer release wrote, or a development build."
                    next "Nothing; 'grouplog verify --broker X.Y' says what your release does with it."
                    since "Releases with KIP-915 (3.4, 3.5 and patches of older ones) skip them; older ones stop at them."
                }
                NotUtf8 "not-utf8" Warning {
                    means "A name that is not UTF-8: a broker reads the odd bytes as U+FFFD, so that two names can become one."
                    comes "A client that writes group ids in another encoding, or cuts them in the middle of a character."
                    next "Nothing, unless the group cannot be reached by its name."
                }
                TrailingBytes "trailing-bytes" Warning {
                    means "Bytes behind the last field, which brokers pass over: another writer than a broker, or damage under a right CRC."
                    comes "A newer release under the same version number, or a client that pads."
                    next "Nothing; if there are many, find who writes to this topic."
                }
                LatestLost "latest-record-lost" Error {
                    means "The latest record of one or more keys of a group lies in damage: whoever loads the log falls back to an older value, or to none. A consumer group reads again what it had read; what an older group record says of members is outdated."
                    comes "Damage anywhere in the log, as the findings beside this one name it."
                    next "'grouplog describe GROUP' shows what is left. 'grouplog salvage --also REPLICA' brings the record back where a replica has it; else ask the application where it stood. What the finding says was committed may itself be damaged, unless the CRC told which byte was changed."
                }
                MarkerLost "marker-lost" Error {
                    means "The record that ended a transaction lies in damage: a broker sees the transaction open, answers 'unstable offset' for its keys, and its cleaner stops there."
                    comes "Damage to the batch that held a COMMIT or ABORT."
                    next "'grouplog salvage --also REPLICA' brings it back; else end it with 'kafka-transactions.sh abort' once the broker has loaded the partition."
                    since "0.11 and later."
                }
            }
        }
    };
}
