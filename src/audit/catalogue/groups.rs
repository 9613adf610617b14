//! Codes on groups as a whole.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! groups {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Groups {
                DeadGroup "dead-group" Info {
                    means "A group record without members and without offsets. Nothing is left of the group; a coordinator calls it Dead and removes it at its next look."
                    comes "The last offset expired or was deleted, or nothing was ever committed. A broker looks every 10 minutes (offsets.retention.check.interval.ms)."
                    next "Nothing: a broker removes it. To be rid of it now, use the command of the finding."
                }
                LongEmpty "long-empty-group" Warning {
                    means "A group without members whose last sign of life is older than --stale-after. Its offsets are kept in the log and in the coordinator's memory."
                    comes "An application that was switched off, a group id that was used once, a long or infinite offsets.retention.minutes."
                    next "If nobody needs its position any more, delete it: the finding has the command (of a streams group use kafka-streams-groups.sh --delete, which on 4.1 deletes the application's internal topics, too). Save it before with 'grouplog describe GROUP --format json'."
                }
                Family "group-family" Warning {
                    means "Many groups whose names differ only in a UUID, a long hexadecimal number or a counter. They were made by one program, and every one costs records, memory in the coordinator and time in every listing."
                    comes "A group.id that is made anew for every process (console-consumer-12345, app-UUID), with a retention that keeps them for days. Info while most of them are alive."
                    next "Fix the program to use one group.id, or let it delete its group at the end. The finding has a command that deletes those that are silent, and lists them."
                }
                NeverStable "never-stable-group" Warning {
                    means "A group that does not become Stable: for a consumer or streams group the log ends in Assigning, Reconciling or NotReady longer ago than its members' rebalance timeout allows; for a classic group every generation in the log ended without members."
                    comes "A member that never revokes its partitions or never joins in time, a missing topic of a streams topology, clients that crash in the rebalance."
                    next "'grouplog history GROUP' shows who it waits for. A rebalance in progress is never on disk: ask the live broker with kafka-consumer-groups.sh --describe --state."
                    since "Consumer groups from 4.0, streams groups from 4.1 on; classic groups in every release."
                }
                Storm "rebalance-storm" Warning {
                    means "A group went through more than 20 rebalances in a row with no more than a minute between two of them (in the newer protocols, where each member that comes or goes is one, three more for each member). Every one writes records, and in a classic group the whole membership, and stops all members."
                    comes "Timeouts that are too short for the work (max.poll.interval.ms, session.timeout.ms), a member that crashes and comes back, two members with one instance id."
                    next "'grouplog history GROUP' names the clients that come and go. Raise max.poll.interval.ms, or use static membership, or for a classic group the consumer protocol."
                }
                Mixed "mixed-protocols" Info {
                    means "A consumer group has members of the classic protocol, too: a migration on its way (KIP-848)."
                    comes "A rolling restart from group.protocol=classic to consumer, or back."
                    next "Finish the restart; both kinds may live together meanwhile."
                    since "4.0 and later (group.consumer.migration.policy)."
                }
                StuckMigration "stuck-migration" Warning {
                    means "A consumer group has had classic members beside those of the new protocol for longer than --stale-after without a change."
                    comes "A rolling restart that was left half done, or a client library that cannot speak the new protocol."
                    next "Restart the classic members (the finding names them) with group.protocol=consumer, or go back."
                    since "4.0 and later."
                }
                TwoProtocols "leftover-of-other-protocol" Warning {
                    means "A group has records of two protocols. The one that wrote last counts here; a broker may refuse the whole partition."
                    comes "A change of protocol whose tombstones were compacted away or lost (KAFKA-21117, KAFKA-20254)."
                    next "'grouplog verify --broker X.Y' says whether your release loads it; 'grouplog salvage --drop-unloadable X.Y' takes out what keeps it from that."
                    since "4.0 and later."
                }
                LargeRecord "large-group-record" Warning {
                    means "The record of a classic group is near or above the message limit of the topic (1 MiB unless max.message.bytes says otherwise): the next rebalance with another member or topic fails, and the group cannot form any more."
                    comes "All members with their subscriptions and assignments stand in one record: thousands of topics or members, as mirror makers have (KAFKA-3810, KAFKA-7641)."
                    next "Use the consumer protocol (a record for every member), fewer topics a group, or an assignor without user data; or raise max.message.bytes of __consumer_offsets."
                    since "Classic groups, 0.9 and later."
                }
            }
        }
    };
}
