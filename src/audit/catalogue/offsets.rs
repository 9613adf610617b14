//! Codes on committed offsets.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! offsets {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Offsets {
                Expired "expired-offsets" Warning {
                    means "Offsets that are due for removal under --retention (or by the time in the commit itself): a running broker removes them within minutes, and the group then starts from auto.offset.reset."
                    comes "The group is Empty, or nobody in it subscribes to the topic, for longer than the retention. The rule is named: see 'grouplog describe --retention'."
                    next "If the position is wanted, commit it anew with the command of the finding, which names every offset, so that it works also when the broker has removed them (--to-current would then go to the end). Of many partitions, or a streams group, take them from 'grouplog describe GROUP --format json'."
                    since "Rules of 2.1 and later (KIP-211, KIP-496); before, each commit carried its own time."
                }
                Expiring "expiring-offsets" Warning {
                    means "Offsets that will be due for removal within a day, or within a tenth of their time (the retention, or what the commit asked for) if that is shorter."
                    comes "As expired-offsets."
                    next "Start the consumer, or commit the position anew with the command of the finding, or raise offsets.retention.minutes."
                    since "Rules of 2.1 and later (KIP-211, KIP-496)."
                }
                Unsubscribed "unsubscribed-offsets" Info {
                    means "A group with members holds offsets of a topic that none of them subscribes to. They raise false lag alarms, and expire only by the retention. Warning if older than --stale-after."
                    comes "The application stopped reading the topic. Brokers before 2.4 kept such offsets as long as the group lived (KAFKA-8730)."
                    next "Delete them: the finding has the command."
                    since "Brokers from 2.4 on expire them (KIP-496); --delete-offsets from 2.4 on."
                }
                TopicGone "topic-gone" Warning {
                    means "Offsets of a topic that is not in the cluster (by --topics). 'kafka-consumer-groups.sh --describe' of such a group fails as a whole (seen with 4.4), and a topic of the same name that is made later starts from them."
                    comes "The topic was deleted while the coordinator was away, or an in-flight commit landed behind the deletion (KAFKA-19154)."
                    next "Brokers refuse to delete offsets of a topic that they do not have. Make the topic and delete it again, with the command of the finding: coordinators then forget its offsets, those of all groups. Or delete the group, if nothing else of it is wanted."
                    since "Needs --topics FILE."
                }
                PartitionGone "partition-gone" Warning {
                    means "Offsets of a partition that its topic does not have. 'kafka-consumer-groups.sh --describe' of such a group fails as a whole (seen with 4.4)."
                    comes "The topic was deleted and made anew with fewer partitions."
                    next "Brokers refuse to delete offsets of a partition that they do not have. Once no member subscribes to the topic they expire; else add the partitions, and delete the offsets then, or delete the group. 'grouplog rewrite' takes them out while the broker is stopped."
                    since "Needs --topics FILE with partition counts."
                }
                TopicIdMismatch "topic-id-mismatch" Warning {
                    means "Offsets that were committed under another id of their topic than the current one: the topic was deleted and made anew, so that they point into a log that is gone."
                    comes "A topic that was recreated while the consumer stood still (KAFKA-19154). Without a topic list the id of the newest commit to that topic counts as current."
                    next "Reset them: the finding has the command."
                    since "Value version 4 with a topic id: clients from 4.2 on."
                }
                OutOfRange "offset-out-of-range" Warning {
                    means "A committed offset below the start or above the end of its partition, by --log-ends. The consumer resets by auto.offset.reset: it reads everything again, or skips."
                    comes "The consumer stood still longer than the topic's retention, the topic was made anew, or offsets were copied from another cluster without translation."
                    next "Reset it: the finding has the command. While the group has members the tool refuses; stop it first."
                    since "Needs --log-ends FILE."
                }
                Negative "negative-offset" Warning {
                    means "A committed offset below 0. A consumer that fetches it resets by auto.offset.reset."
                    comes "Some clients commit -1 or -1001 for 'no offset' (KAFKA-15607)."
                    next "Reset or delete it: the finding has the command."
                }
                Absurd "absurd-offset" Warning {
                    means "A committed offset of more than 10^15, which no topic reaches: lag turns negative, the consumer resets."
                    comes "A client that commits 2^63-1 for 'the end', or a tool that wrote a time into the field."
                    next "Reset it: the finding has the command."
                }
                EpochBehind "leader-epoch-behind" Warning {
                    means "The latest commit stands above an earlier one, but under a lower leader epoch. Epochs only rise along a log, so one of the two was made from a log that is gone: a consumer may reset (KAFKA-19902). Info where a later commit has overtaken it."
                    comes "An unclean election, a topic that was made anew, or two clients of which one has stale metadata."
                    next "Compare with the leader-epoch-checkpoint of the topic's partition. If that ends below the higher epoch, the topic was made anew: stop the group and reset it with the command of the finding."
                    since "Value version 3 and later: 2.1."
                }
                Rewind "offset-rewind" Info {
                    means "A commit lower than the one before it: what lies between is read again. Warning if it goes back a million or more while the group has members: then neither an admin's reset nor a rebalance explains it."
                    comes "An admin's reset (the group is Empty then), a second consumer with the same group id, a zombie after a rebalance, a client that seeks back on purpose."
                    next "'grouplog history GROUP' shows when, and by whom. If two applications share the group id, give one another id."
                }
                Jump "offset-jump" Info {
                    means "A commit a million or more ahead of the one before it, and more than a thousand times the step that is usual for the key: what lies between was skipped, or a flood was read."
                    comes "A reset to the end, a seek, a consumer that skipped a poisoned stretch, or a topic that was filled at once."
                    next "'grouplog history GROUP' shows when, and by whom."
                }
                IdleCommits "idle-recommits" Info {
                    means "Most commits of a group repeat the offset that stands there already: they say nothing new and fill the log."
                    comes "A consumer of quiet partitions that commits on a timer, or after every poll (bsm/sarama-cluster#124)."
                    next "Commit less often (auto.commit.interval.ms), or only what moved. Idle groups of the classic protocol need no commit to stay: offsets of a subscribed topic do not expire since 2.1."
                }
            }
        }
    };
}
