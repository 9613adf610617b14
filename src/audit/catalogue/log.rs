//! Codes on the log as a whole: whether it is cleaned, what does not belong in it.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! log {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Log {
                CleanerStuck "cleaner-stuck" Warning {
                    means "Closed segments wait for the cleaner, more than half of what it should look at, and it has had an hour to come. The reason is named as far as the files show it. Segments that an open transaction holds up do not count: they are told with the transaction (hanging-transaction, cleaner-pinned)."
                    comes "The cleaner thread died (before 2.1 for all topics) or marked the partition uncleanable after an error; its checkpoint is invalid (KAFKA-6266); log.cleaner.enable=false."
                    next "By reason: salvage the damage; else look for 'uncleanable' in the broker's log-cleaner.log and restart the broker. 'grouplog compact' shows what a cleaning gives."
                }
                ActiveOnly "active-segment-only" Info {
                    means "Most records of the partition are superseded, but all lie in the active segment, which is never cleaned. That is healthy: it shrinks when the segment rolls (100 MiB on this topic, segment.bytes)."
                    comes "A small cluster: 50 partitions of up to 100 MiB are 5 GB of legitimate dead data."
                    next "Nothing. To save space lower segment.bytes or segment.ms of __consumer_offsets."
                }
                PastHorizon "tombstones-past-horizon" Info {
                    means "Tombstones that a cleaning could drop since their delete horizon has passed."
                    comes "No cleaning came by since: the partition changes little, or the cleaner does not come (see cleaner-stuck)."
                    next "Nothing: the next cleaning drops them."
                    since "3.1 and later (KIP-534)."
                }
                EmptyBatches "removable-empty-batches" Info {
                    means "A hundred batches or more without records that no producer is remembered by: a cleaning could drop them."
                    comes "Cleaners kept an empty batch for every sequence number of a producer, and coordinators write all their transactional commits with sequence 0, so that none ever went (KAFKA-8335). Or the producers have been silent for a day since the last cleaning."
                    next "Nothing on a broker of today: its next cleaning drops them. 'grouplog stats' says how many bytes a compaction would leave."
                    since "Logs with transactions (0.11 and later); cleaners since 2.2.1 drop them."
                }
                CleanupPolicy "cleanup-policy" Warning {
                    means "The first segment does not begin at offset 0, so old segments were deleted rather than compacted: groups that commit rarely lose their offsets with them."
                    comes "cleanup.policy with 'delete' on __consumer_offsets (KAFKA-12889), records deleted by an admin, or a copy without its first segments."
                    next "kafka-configs.sh --bootstrap-server BROKER:9092 --entity-type topics --entity-name __consumer_offsets --alter --add-config cleanup.policy=compact"
                }
                Misplaced "misplaced-group" Warning {
                    means "A group in a partition that its name does not hash to: no broker finds it there."
                    comes "The number of partitions of __consumer_offsets was raised, or folders were copied under wrong numbers."
                    next "'grouplog partition-of GROUP' says where it belongs. Reset the group in its new partition to what stands in the old one: 'grouplog describe GROUP' has it."
                    since "How many partitions there are is taken from --offsets-partitions, from the folders if all are there, or from where most groups lie."
                }
                MixedVersions "mixed-value-versions" Info {
                    means "Values of one record type in two or more versions: what an upgrade or a downgrade leaves, until compaction took the older ones."
                    comes "A change of release or of inter.broker.protocol.version; clients that ask for their own retention (offset value version 1)."
                    next "Nothing; before a downgrade ask 'grouplog verify --broker X.Y'."
                }
                Preview "preview-schema" Warning {
                    means "Values in a shape that only an early-access release wrote. Newer brokers refuse the whole partition over them."
                    comes "Consumer groups of 3.7 or share groups of 3.9 and 4.0 while they were early access."
                    next "'grouplog verify --broker X.Y' names the records your release stops at; 'grouplog salvage --drop-unloadable X.Y' takes them out."
                    since "Written by 3.7 (types 4, 5, 7, 8) and 4.0 (types 9, 11, 15); refused from 3.8 and 4.1 on."
                }
                NotReplayed "not-replayed" Error {
                    means "Parts of the log could not be read, so that what is said here may be outdated or incomplete. Info for a write at the end that a stop cut short: it never counted."
                    comes "Damage: see 'grouplog verify'."
                    next "'grouplog verify' names every place; 'grouplog salvage' makes a sound copy."
                }
            }
        }
    };
}
