//! Groups of the consumer protocol (KIP-848): record types 3 to 8 and 16.

use super::define::message;
use super::wire::{Blob, Text, Uuid};

message! {
    /// Names a consumer, share or streams group.
    GroupKey 0..0 inflexible {
        group_id: Text<'a> [0+],
    }

    /// Names a member of a consumer, share or streams group.
    MemberKey 0..0 inflexible {
        group_id: Text<'a> [0+],
        member_id: Text<'a> [0+],
    }

    /// Names a regular expression that members of a consumer group subscribe with.
    RegularExpressionKey 0..0 inflexible {
        group_id: Text<'a> [0+],
        regular_expression: Text<'a> [0+],
    }

    /// The epoch of a consumer group; the hash covers the topics it reads (4.1 and later).
    ConsumerGroupMetadataValue 0..0 flexible 0 {
        epoch: i32 [0+],
        metadata_hash: i64 [0+] tag 0,
    }

    /// The topics a consumer group reads. Written by 3.8 to 4.0; later releases read it and write its tombstone.
    ConsumerGroupPartitionMetadataValue 0..0 flexible 0 {
        topics: Vec<TopicMetadata<'a>> [0+],
    }

    /// A topic that a group reads.
    part TopicMetadata {
        topic_id: Uuid [0+],
        topic_name: Text<'a> [0+],
        num_partitions: i32 [0+],
        partition_metadata: Vec<PartitionMetadata<'a>> [0+],
    }

    /// The racks that hold replicas of a partition.
    part PartitionMetadata {
        partition: i32 [0+],
        racks: Vec<Text<'a>> [0+],
    }

    /// A member of a consumer group, as it asked to be. Timeouts are milliseconds.
    ConsumerGroupMemberMetadataValue 0..0 flexible 0 {
        instance_id: Option<Text<'a>> [0+],
        rack_id: Option<Text<'a>> [0+],
        client_id: Text<'a> [0+],
        client_host: Text<'a> [0+],
        subscribed_topic_names: Vec<Text<'a>> [0+],
        subscribed_topic_regex: Option<Text<'a>> [0+],
        rebalance_timeout_ms: i32 [0+] = -1,
        server_assignor: Option<Text<'a>> [0+],
        classic_member_metadata: Option<ClassicMemberMetadata<'a>> [0+] tag 0,
    }

    /// What a member that still speaks the classic protocol asked for.
    part ClassicMemberMetadata {
        session_timeout_ms: i32 [0+],
        supported_protocols: Vec<ClassicProtocol<'a>> [0+],
    }

    /// A classic assignor that a member supports; `metadata` is a consumer-protocol subscription.
    part ClassicProtocol {
        name: Text<'a> [0+],
        metadata: Blob<'a> [0+],
    }

    /// The epoch of a consumer group's target assignment; the time (4.3 and later) is milliseconds since 1970.
    ConsumerGroupTargetAssignmentMetadataValue 0..0 flexible 0 {
        assignment_epoch: i32 [0+],
        assignment_timestamp: i64 [0+] tag 0,
    }

    /// What a member of a consumer group is to own.
    ConsumerGroupTargetAssignmentMemberValue 0..0 flexible 0 {
        topic_partitions: Vec<TargetTopicPartitions<'a>> [0+],
    }

    /// Partitions of one topic.
    part TargetTopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
    }

    /// What a member of a consumer group owns and is giving up. State: 0 STABLE, 1 UNREVOKED_PARTITIONS,
    /// 2 UNRELEASED_PARTITIONS, 127 UNKNOWN. Epoch -1: the member left; -2: a static member that left for a while.
    ConsumerGroupCurrentMemberAssignmentValue 0..0 flexible 0 {
        member_epoch: i32 [0+],
        previous_member_epoch: i32 [0+],
        state: i8 [0+],
        assigned_partitions: Vec<CurrentTopicPartitions<'a>> [0+],
        partitions_pending_revocation: Vec<CurrentTopicPartitions<'a>> [0+],
    }

    /// Partitions of one topic, each with the epoch at which it was assigned (4.3 and later).
    part CurrentTopicPartitions {
        topic_id: Uuid [0+],
        partitions: Vec<i32> [0+],
        assignment_epochs: Option<Vec<i32>> [0+] tag 0,
    }

    /// The topics that a regular expression stood for. The time is milliseconds since 1970.
    ConsumerGroupRegularExpressionValue 0..0 flexible 0 {
        topics: Vec<Text<'a>> [0+],
        version: i64 [0+],
        timestamp: i64 [0+],
    }
}
