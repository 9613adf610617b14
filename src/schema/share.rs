//! Share groups (KIP-932): record types 9 to 15.

use super::consumer::TopicMetadata;
use super::define::message;
use super::wire::{Text, Uuid};

message! {
    /// The topics a share group reads. Written by 4.0's early access only.
    ShareGroupPartitionMetadataValue 0..0 flexible 0 {
        topics: Vec<TopicMetadata<'a>> [0+],
    }

    /// A member of a share group, as it asked to be.
    ShareGroupMemberMetadataValue 0..0 flexible 0 {
        rack_id: Option<Text<'a>> [0+],
        client_id: Text<'a> [0+],
        client_host: Text<'a> [0+],
        subscribed_topic_names: Vec<Text<'a>> [0+],
    }

    /// The epoch of a share group; the hash covers the topics it reads.
    ShareGroupMetadataValue 0..0 flexible 0 {
        epoch: i32 [0+],
        metadata_hash: i64 [0+],
    }

    /// The epoch of a share group's target assignment; the time (4.3 and later) is milliseconds since 1970.
    ShareGroupTargetAssignmentMetadataValue 0..0 flexible 0 {
        assignment_epoch: i32 [0+],
        assignment_timestamp: i64 [0+] tag 0,
    }

    /// What a member of a share group is to read.
    ShareGroupTargetAssignmentMemberValue 0..0 flexible 0 {
        topic_partitions: Vec<ShareTopicPartitions<'a>> [0+],
    }

    /// Partitions of one topic.
    part ShareTopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }

    /// What a member of a share group reads. State: 0 STABLE, 127 UNKNOWN. Epoch -1: the member left.
    ShareGroupCurrentMemberAssignmentValue 0..0 flexible 0 {
        member_epoch: i32 [0+],
        previous_member_epoch: i32 [0+],
        state: i8 [0+],
        assigned_partitions: Vec<ShareTopicPartitions<'a>> [0+],
    }

    /// Where the share partitions of a group stand: being set up, set up, being removed.
    ShareGroupStatePartitionMetadataValue 0..0 flexible 0 {
        initializing_topics: Vec<TopicPartitionsInfo<'a>> [0+],
        initialized_topics: Vec<TopicPartitionsInfo<'a>> [0+],
        deleting_topics: Vec<ShareTopicInfo<'a>> [0+],
    }

    /// Partitions of one topic, with its name.
    part TopicPartitionsInfo {
        topic_id: Uuid [0+],
        topic_name: Text<'a> [0+],
        partitions: Vec<i32> [0+],
    }

    /// A topic.
    part ShareTopicInfo {
        topic_id: Uuid [0+],
        topic_name: Text<'a> [0+],
    }
}
