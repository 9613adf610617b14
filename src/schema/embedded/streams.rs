//! What a Kafka Streams thread says of itself: user data of its subscription, versions 1 to 11.
//!
//! Must not know: the assignment that answers it ([`super::streams_assignment`]).

use super::declare::{payload, piece};
use super::pieces::{LongText, Uuid};
use std::ops::RangeInclusive;

/// The newest version that is known. From version 3 on (KIP-268) a newer one keeps its first two fields.
pub const NEWEST: i32 = 11;

const ALL: RangeInclusive<i32> = 1..=NEWEST;

piece! {
    /// A task of a Streams application.
    TaskId {
        /// The number of its subtopology.
        topic_group_id "topicGroupId" => i32;
        /// Its partition.
        partition "partition" => i32;
    }
}

piece! {
    /// How far the tasks of one subtopology are (versions 7 to 9).
    TaskOffsetSums {
        /// The number of the subtopology.
        topic_group_id "topicGroupId" => i32;
        /// By partition.
        partition_to_offset_sum "partitionToOffsetSum" => Vec<PartitionOffsetSum>;
    }
}

piece! {
    /// How far one task is (versions 7 to 9).
    PartitionOffsetSum {
        /// Its partition.
        partition "partition" => i32;
        /// The sum of the offsets of its state's changelogs; -2 while it runs, -3 if unknown.
        offset_sum "offsetSum" => i64;
    }
}

piece! {
    /// How far one task is (version 10 on).
    TaskOffsetSum<'a> {
        /// The number of its subtopology.
        topic_group_id "topicGroupId" => i32;
        /// Its partition.
        partition "partition" => i32;
        /// The sum of the offsets of its state's changelogs; -2 while it runs, -3 if unknown.
        offset_sum "offsetSum" => i64;
        /// The named topology that it belongs to, if there are such.
        named_topology "namedTopology" => Option<&'a [u8]>;
    }
}

piece! {
    /// One of a client's tags (KIP-708).
    ClientTag<'a> {
        /// Its name.
        key "key" => LongText<'a>;
        /// Its value.
        value "value" => LongText<'a>;
    }
}

payload! {
    /// What a Streams thread says of itself. Of a newer version only the first two fields are read.
    SubscriptionInfo, i32 {
        /// The newest version that the thread can read, or -1 where it does not say (versions 1 and 2).
        latest_supported_version "latestSupportedVersion" 3..=i32::MAX, needed, -1 => i32;
        /// The process that the thread runs in.
        process_id "processId" ALL, needed, Uuid(None) => Uuid<'a>;
        /// Active tasks that it held (versions 1 to 6).
        prev_tasks "prevTasks" 1..=6, needed, Vec::new() => Vec<TaskId>;
        /// Standby tasks that it held, and tasks whose state it has on disk (versions 1 to 6).
        standby_tasks "standbyTasks" 1..=6, needed, Vec::new() => Vec<TaskId>;
        /// `application.server` of the process, empty if it has none (version 2 on).
        user_end_point "userEndPoint" 2..=NEWEST, needed, None => Option<LongText<'a>>;
        /// Tasks that it has state of (versions 7 to 9).
        subtopology_offset_sums "taskOffsetSums" 7..=9, needed, Vec::new() => Vec<TaskOffsetSums>;
        /// Tasks that it has state of (version 10 on).
        task_offset_sums "taskOffsetSums" 10..=NEWEST, needed, Vec::new() => Vec<TaskOffsetSum<'a>>;
        /// Changes with every join, so that the broker does not take a rejoin for a repetition (version 8 on).
        unique_field "uniqueField" 8..=NEWEST, needed, 0 => i8;
        /// 0, or the reason why the thread asks the group to shut down (version 9 on).
        error_code "errorCode" 9..=NEWEST, needed, 0 => i32;
        /// The client's tags (version 11 on).
        client_tags "clientTags" 11..=NEWEST, needed, Vec::new() => Vec<ClientTag<'a>>;
    }
}
