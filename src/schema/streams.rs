//! Streams groups (KIP-1071): record types 17 to 24.

use super::consumer::TopicMetadata;
use super::define::message;
use super::wire::{Text, Uuid};

message! {
    /// The epoch of a streams group; the hash covers the topics it reads.
    StreamsGroupMetadataValue 0..0 flexible 0 {
        epoch: i32 [0+],
        metadata_hash: i64 [0+],
        validated_topology_epoch: i32 [0+] tag 0 = -1,
        last_assignment_configs: Option<Vec<LastAssignmentConfig<'a>>> [0+] tag 1,
        stored_description_topology_epoch: i32 [0+] tag 2 = -1,
        failed_description_topology_epoch: i32 [0+] tag 3 = -1,
    }

    /// A setting with which the last assignment was made.
    part LastAssignmentConfig {
        key: Text<'a> [0+],
        value: Text<'a> [0+],
    }

    /// The topics a streams group reads. Written by development builds before 4.1 only; removed since.
    StreamsGroupPartitionMetadataValue 0..0 flexible 0 {
        topics: Vec<TopicMetadata<'a>> [0+],
    }

    /// A member of a streams group, as it asked to be. Timeouts are milliseconds.
    StreamsGroupMemberMetadataValue 0..0 flexible 0 {
        instance_id: Option<Text<'a>> [0+],
        rack_id: Option<Text<'a>> [0+],
        client_id: Text<'a> [0+],
        client_host: Text<'a> [0+],
        rebalance_timeout_ms: i32 [0+] = -1,
        topology_epoch: i32 [0+],
        process_id: Text<'a> [0+],
        user_endpoint: Option<Endpoint<'a>> [0+],
        client_tags: Vec<KeyValue<'a>> [0+],
    }

    /// Where a member's application answers queries.
    part Endpoint {
        host: Text<'a> [0+],
        port: u16 [0+],
    }

    /// A client tag.
    part KeyValue {
        key: Text<'a> [0+],
        value: Text<'a> [0+],
    }

    /// The epoch of a streams group's target assignment; the time (4.3 and later) is milliseconds since 1970.
    StreamsGroupTargetAssignmentMetadataValue 0..0 flexible 0 {
        assignment_epoch: i32 [0+],
        assignment_timestamp: i64 [0+] tag 0,
    }

    /// What a member of a streams group is to run.
    StreamsGroupTargetAssignmentMemberValue 0..0 flexible 0 {
        active_tasks: Vec<TargetTaskIds<'a>> [0+],
        standby_tasks: Vec<TargetTaskIds<'a>> [0+],
        warmup_tasks: Vec<TargetTaskIds<'a>> [0+],
    }

    /// Tasks of one subtopology.
    part TargetTaskIds {
        subtopology_id: Text<'a> [0+],
        partitions: Vec<i32> [0+],
    }

    /// What a member of a streams group runs and is giving up. State: 1 STABLE, 2 UNREVOKED_TASKS, 3 UNRELEASED_TASKS,
    /// 127 UNKNOWN. Epoch -1: the member left; -2: a static member that left for a while.
    StreamsGroupCurrentMemberAssignmentValue 0..0 flexible 0 {
        member_epoch: i32 [0+],
        previous_member_epoch: i32 [0+],
        state: i8 [0+],
        active_tasks: Vec<CurrentTaskIds<'a>> [0+],
        standby_tasks: Vec<CurrentTaskIds<'a>> [0+],
        warmup_tasks: Vec<CurrentTaskIds<'a>> [0+],
        active_tasks_pending_revocation: Vec<CurrentTaskIds<'a>> [0+],
        standby_tasks_pending_revocation: Vec<CurrentTaskIds<'a>> [0+],
        warmup_tasks_pending_revocation: Vec<CurrentTaskIds<'a>> [0+],
    }

    /// Tasks of one subtopology, each with the epoch at which it was assigned (4.2 and later).
    part CurrentTaskIds {
        subtopology_id: Text<'a> [0+],
        partitions: Vec<i32> [0+],
        assignment_epochs: Option<Vec<i32>> [0+] tag 0,
    }

    /// The topology of a Kafka Streams application: its subtopologies and their topics.
    StreamsGroupTopologyValue 0..0 flexible 0 {
        epoch: i32 [0+],
        subtopologies: Vec<Subtopology<'a>> [0+],
    }

    /// A part of a topology that runs on its own.
    part Subtopology {
        subtopology_id: Text<'a> [0+],
        source_topics: Vec<Text<'a>> [0+],
        source_topic_regex: Vec<Text<'a>> [0+],
        state_changelog_topics: Vec<TopologyTopicInfo<'a>> [0+],
        repartition_sink_topics: Vec<Text<'a>> [0+],
        repartition_source_topics: Vec<TopologyTopicInfo<'a>> [0+],
        copartition_groups: Vec<CopartitionGroup<'a>> [0+],
    }

    /// Topics that must have the same number of partitions, as positions in the subtopology's lists.
    part CopartitionGroup {
        source_topics: Vec<i16> [0+],
        source_topic_regex: Vec<i16> [0+],
        repartition_source_topics: Vec<i16> [0+],
    }

    /// A topic setting.
    part TopicConfig {
        key: Text<'a> [0+],
        value: Text<'a> [0+],
    }

    /// A topic that the application makes for itself.
    part TopologyTopicInfo {
        name: Text<'a> [0+],
        partitions: i32 [0+],
        replication_factor: i16 [0+],
        topic_configs: Vec<TopicConfig<'a>> [0+],
    }

    /// The ids of the topics that a target assignment was made for. On the development line after 4.4.0 only.
    StreamsGroupTargetAssignmentResolvedTopicIdsValue 0..0 flexible 0 {
        assignment_epoch: i32 [0+],
        resolved_topic_ids_by_subtopology: Vec<ResolvedTopicIds<'a>> [0+],
    }

    /// The topics of one subtopology.
    part ResolvedTopicIds {
        subtopology_id: Text<'a> [0+],
        topic_ids: Vec<Uuid> [0+],
    }
}
