//! Shapes that only early-access releases wrote. They carry the same value version as today's shape of their type, so
//! only their bytes tell them apart: the shape that fits is the one that takes a value to its last byte.

use super::consumer::{TargetTopicPartitions, TopicMetadata};
use super::define::message;
use super::share::{ShareTopicInfo, TopicPartitionsInfo};
use super::wire::{Blob, Text, Uuid};

message! {
    /// The topics a consumer group reads, as 3.6 and 3.7 wrote it: an epoch stands in front.
    ConsumerGroupPartitionMetadataValue37 0..0 flexible 0 {
        epoch: i32 [0+],
        topics: Vec<TopicMetadata<'a>> [0+],
    }

    /// A member of a consumer group, as 3.7 wrote it: with client-side assignors, without classic protocols.
    ConsumerGroupMemberMetadataValue37 0..0 flexible 0 {
        instance_id: Option<Text<'a>> [0+],
        rack_id: Option<Text<'a>> [0+],
        client_id: Text<'a> [0+],
        client_host: Text<'a> [0+],
        subscribed_topic_names: Vec<Text<'a>> [0+],
        subscribed_topic_regex: Option<Text<'a>> [0+],
        rebalance_timeout_ms: i32 [0+] = -1,
        server_assignor: Option<Text<'a>> [0+],
        assignors: Vec<Assignor37<'a>> [0+],
    }

    /// A client-side assignor that a member supports.
    part Assignor37 {
        name: Text<'a> [0+],
        minimum_version: i16 [0+],
        maximum_version: i16 [0+],
        reason: i8 [0+],
        version: i16 [0+],
        metadata: Blob<'a> [0+],
    }

    /// What a member of a consumer group is to own, as 3.7 wrote it.
    ConsumerGroupTargetAssignmentMemberValue37 0..0 flexible 0 {
        error: i8 [0+],
        topic_partitions: Vec<TargetTopicPartitions<'a>> [0+],
        metadata_version: i16 [0+],
        metadata_bytes: Blob<'a> [0+],
    }

    /// What a member of a consumer group owns, as 3.7 wrote it: with a target epoch, without a state.
    ConsumerGroupCurrentMemberAssignmentValue37 0..0 flexible 0 {
        member_epoch: i32 [0+],
        previous_member_epoch: i32 [0+],
        target_member_epoch: i32 [0+],
        assigned_partitions: Vec<CurrentTopicPartitions37<'a>> [0+],
        partitions_pending_revocation: Vec<CurrentTopicPartitions37<'a>> [0+],
        partitions_pending_assignment: Vec<CurrentTopicPartitions37<'a>> [0+],
        error: i8 [0+],
        metadata_version: i16 [0+],
        metadata_bytes: Blob<'a> [0+],
    }

    /// Partitions of one topic.
    part CurrentTopicPartitions37 {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }

    /// Number 9 as the jars of 3.9 declare it: what became type 15.
    ShareGroupPartitionMetadataValue39 0..0 flexible 0 {
        initialized_topics: Vec<TopicPartitionsInfo<'a>> [0+],
        deleting_topics: Vec<ShareTopicInfo<'a>> [0+],
    }

    /// The epoch of a share group, as 3.9 and 4.0 wrote it: without a hash.
    ShareGroupMetadataValue40 0..0 flexible 0 {
        epoch: i32 [0+],
    }

    /// Where the share partitions of a group stand, as 4.0 declares it: none is being set up.
    ShareGroupStatePartitionMetadataValue40 0..0 flexible 0 {
        initialized_topics: Vec<TopicPartitionsInfo<'a>> [0+],
        deleting_topics: Vec<ShareTopicInfo<'a>> [0+],
    }
}
