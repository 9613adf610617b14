//! Codes on members of groups.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! members {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Members {
                StaticAway "static-member-away" Warning {
                    means "A static member of a consumer or streams group left for a while (member epoch -2) and has not come back for longer than a session may last. Its partitions are kept for it: nobody reads them."
                    comes "A consumer with group.instance.id was stopped, and its broker stopped or was copied before the session timeout could end the membership. Info while it may still come back."
                    next "Start the instance again, or remove its membership with the Admin API (removeMembersFromConsumerGroup with the group.instance.id)."
                    since "Consumer groups from 3.7 (preview) and 4.0 on, streams groups from 4.1 on. In classic groups nothing on disk tells that a static member is away."
                }
                DuplicateInstance "duplicate-instance-id" Warning {
                    means "Two members of one group have the same group.instance.id. A coordinator lets only one of them live: the other is fenced, again and again if it restarts."
                    comes "Two processes with the same configuration, or a member that was replaced while the group record kept the old one."
                    next "Give every process an id of its own. 'grouplog describe GROUP --members' shows clients and hosts of both."
                    since "2.3 and later (KIP-345)."
                }
                HalfRemoved "half-removed-member" Warning {
                    means "A member has a record of its own (type 5, 10 or 19) but no current assignment (type 8, 14 or 22). A broker writes both when a member joins, and removes the assignment first when it leaves."
                    comes "A broker that stopped in the middle of a removal, a salvage or rewrite that lost one of the records, or a compaction that a crash cut short."
                    next "Nothing if the group is alive: the member joins again or is fenced at its session timeout. 'grouplog verify --broker X.Y' says whether your release loads it."
                    since "3.7 (preview) and 4.0 and later."
                }
                NoTarget "member-without-target" Warning {
                    means "A member has no target assignment (type 7, 13 or 21) although the group's target is up to date: it will never be given anything until the group changes."
                    comes "A broker that stopped in the middle of a removal, or a lost record."
                    next "Let the member leave and join again. 'grouplog history GROUP' shows what became of its target."
                    since "3.7 (preview) and 4.0 and later."
                }
                OrphanMember "orphan-member-record" Warning {
                    means "A target or current assignment of a member that has no record of its own (type 5, 10 or 19): the rest of a member that is gone."
                    comes "A removal that was cut short, a compaction that dropped the tombstone of one record before that of another (KAFKA-17306), or a salvage."
                    next "'grouplog verify --broker X.Y' says whether your release loads it; if the group is Empty delete it: the finding has the command."
                    since "3.7 (preview) and 4.0 and later."
                }
                PartsWithoutGroup "parts-without-group" Warning {
                    means "Records of members, targets or expressions of a group that has no record of its own (type 3, 11 or 17)."
                    comes "The group's record was lost or its tombstone came before theirs; a compaction between the two (KAFKA-17306)."
                    next "'grouplog verify --broker X.Y' says whether your release loads it: 3.7 to 4.0 may refuse the whole partition."
                    since "3.7 (preview) and 4.0 and later."
                }
                IdleMember "idle-member" Info {
                    means "Members of a Stable group have nothing to read: there are more members than partitions, or they subscribe to what is not there."
                    comes "More consumers than partitions, a subscription to a topic that does not exist, an assignment that a client reads wrongly."
                    next "Nothing, if they are meant as reserve. Else run fewer, or give the topic more partitions."
                }
                SilentMembers "silent-members" Warning {
                    means "A group has members, but none of them committed an offset for longer than --stale-after, though the group did before."
                    comes "Consumers that poll but never commit, that hang, or whose topics have no data; or members that died with the broker and were never removed from the log."
                    next "See whether the clients still run ('grouplog describe GROUP --members' has their hosts); if not, stop what is left of them, then delete the group."
                }
            }
        }
    };
}
