//! Where names stand: every text in keys and values that names a group, a topic, a member, a client or a host, shown to
//! whoever wants to put another in its place.
//!
//! Not shown, because they name nothing of a user's: ids of subtopologies, names of settings. Must not know: what becomes
//! of a name.

use super::classic::GroupMetadataValue;
use super::consumer::{ClassicProtocol, TopicMetadata};
use super::preview::ConsumerGroupMemberMetadataValue37;
use super::share::{ShareTopicInfo, TopicPartitionsInfo};
use super::streams::{CurrentTaskIds, StreamsGroupMemberMetadataValue, StreamsGroupTopologyValue, TopologyTopicInfo};
use super::wire::{Text, UnknownTags, Uuid};
use super::{Key, KeyFields, Value};

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A group id.
    Group,
    /// A topic's name.
    Topic,
    /// A member id.
    Member,
    /// The id of a static member.
    Instance,
    /// A client id.
    Client,
    /// A host, an address or a URL.
    Host,
    /// A rack.
    Rack,
    /// A regular expression over topic names.
    Regex,
    /// Metadata of a commit.
    Metadata,
    /// The process of a streams member.
    Process,
    /// Name or value of a client tag.
    Tag,
    /// A connector's name.
    Connector,
    /// A protocol type, or an assignor.
    Protocol,
    /// Bytes that nobody can read.
    Unreadable,
}

/// Which payload of a classic member it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    /// What it asked for.
    Subscription {
        /// Of the group.
        protocol_type: &'a [u8],
        /// The name of the protocol that it belongs to.
        protocol: Option<&'a [u8]>,
    },
    /// What it got.
    Assignment {
        /// Of the group.
        protocol_type: &'a [u8],
        /// The name of the protocol that it belongs to.
        protocol: Option<&'a [u8]>,
    },
}

/// Is shown every name, and may put another in its place.
pub trait Names<'a> {
    /// A text.
    fn text(&mut self, kind: Kind, text: &mut &'a [u8]);
    /// A payload that clients put inside.
    fn payload(&mut self, payload: Payload<'a>, bytes: &mut &'a [u8]);
    /// A topic's id.
    fn id(&mut self, _: &mut Uuid) {}
    /// Tagged fields that have no name here.
    fn tags(&mut self, _: &mut UnknownTags<'a>) {}
}

/// Shows the names in a key.
pub fn in_key<'a>(key: &mut Key<'a>, names: &mut impl Names<'a>) {
    match &mut key.fields {
        KeyFields::Offset(it) => {
            names.text(Kind::Group, &mut it.group.0);
            names.text(Kind::Topic, &mut it.topic.0);
        }
        KeyFields::Classic(it) => names.text(Kind::Group, &mut it.group.0),
        KeyFields::Group(it) => names.text(Kind::Group, &mut it.group_id.0),
        KeyFields::Member(it) => {
            names.text(Kind::Group, &mut it.group_id.0);
            names.text(Kind::Member, &mut it.member_id.0);
        }
        KeyFields::RegularExpression(it) => {
            names.text(Kind::Group, &mut it.group_id.0);
            names.text(Kind::Regex, &mut it.regular_expression.0);
        }
    }
    names.text(Kind::Unreadable, &mut key.trailing);
}

fn opt<'a>(names: &mut impl Names<'a>, kind: Kind, text: &mut Option<Text<'a>>) {
    if let Some(text) = text {
        names.text(kind, &mut text.0);
    }
}

fn all<'a>(names: &mut impl Names<'a>, kind: Kind, texts: &mut [Text<'a>]) {
    texts.iter_mut().for_each(|text| names.text(kind, &mut text.0));
}

/// Shows id and unknown tags of each of a list of structs.
macro_rules! ids {
    ($names:expr, $list:expr) => {
        for it in $list.iter_mut() {
            $names.id(&mut it.topic_id);
            $names.tags(&mut it.unknown_tags);
        }
    };
}

/// Shows the names in a value.
pub fn in_value<'a>(value: &mut Value<'a>, names: &mut impl Names<'a>) {
    match value {
        Value::LegacyOffsetCommit(it) => {
            names.text(Kind::Metadata, &mut it.metadata.0);
            names.tags(&mut it.unknown_tags);
        }
        Value::LegacyOffsetCommitOfLaterVersion(it) => {
            names.text(Kind::Metadata, &mut it.metadata.0);
            names.id(&mut it.topic_id);
            names.tags(&mut it.unknown_tags);
        }
        Value::OffsetCommit(it) => {
            names.text(Kind::Metadata, &mut it.metadata.0);
            names.id(&mut it.topic_id);
            names.tags(&mut it.unknown_tags);
        }
        Value::GroupMetadata(it) => classic(it, names),
        Value::ConsumerGroupMetadata(it) => names.tags(&mut it.unknown_tags),
        Value::ConsumerGroupPartitionMetadata(it) => {
            topics(&mut it.topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupPartitionMetadata37(it) => {
            topics(&mut it.topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupMemberMetadata(it) => {
            opt(names, Kind::Instance, &mut it.instance_id);
            opt(names, Kind::Rack, &mut it.rack_id);
            names.text(Kind::Client, &mut it.client_id.0);
            names.text(Kind::Host, &mut it.client_host.0);
            all(names, Kind::Topic, &mut it.subscribed_topic_names);
            opt(names, Kind::Regex, &mut it.subscribed_topic_regex);
            opt(names, Kind::Protocol, &mut it.server_assignor);
            if let Some(classic) = &mut it.classic_member_metadata {
                classic.supported_protocols.iter_mut().for_each(|protocol| supported(protocol, names));
                names.tags(&mut classic.unknown_tags);
            }
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupMemberMetadata37(it) => preview_member(it, names),
        Value::ConsumerGroupTargetAssignmentMetadata(it) => names.tags(&mut it.unknown_tags),
        Value::ConsumerGroupTargetAssignmentMember(it) => {
            ids!(names, it.topic_partitions);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupTargetAssignmentMember37(it) => {
            ids!(names, it.topic_partitions);
            names.text(Kind::Unreadable, &mut it.metadata_bytes.0);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupCurrentMemberAssignment(it) => {
            ids!(names, it.assigned_partitions);
            ids!(names, it.partitions_pending_revocation);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupCurrentMemberAssignment37(it) => {
            ids!(names, it.assigned_partitions);
            ids!(names, it.partitions_pending_revocation);
            ids!(names, it.partitions_pending_assignment);
            names.text(Kind::Unreadable, &mut it.metadata_bytes.0);
            names.tags(&mut it.unknown_tags);
        }
        Value::ConsumerGroupRegularExpression(it) => {
            all(names, Kind::Topic, &mut it.topics);
            names.tags(&mut it.unknown_tags);
        }
        _ => in_later_value(value, names),
    }
}

/// Of share and streams groups.
fn in_later_value<'a>(value: &mut Value<'a>, names: &mut impl Names<'a>) {
    match value {
        Value::ShareGroupPartitionMetadata(it) => {
            topics(&mut it.topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupPartitionMetadata39(it) => {
            share_partitions(&mut it.initialized_topics, names);
            share_topics(&mut it.deleting_topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupMemberMetadata(it) => {
            opt(names, Kind::Rack, &mut it.rack_id);
            names.text(Kind::Client, &mut it.client_id.0);
            names.text(Kind::Host, &mut it.client_host.0);
            all(names, Kind::Topic, &mut it.subscribed_topic_names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupMetadata(it) => names.tags(&mut it.unknown_tags),
        Value::ShareGroupMetadata40(it) => names.tags(&mut it.unknown_tags),
        Value::ShareGroupTargetAssignmentMetadata(it) => names.tags(&mut it.unknown_tags),
        Value::ShareGroupTargetAssignmentMember(it) => {
            ids!(names, it.topic_partitions);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupCurrentMemberAssignment(it) => {
            ids!(names, it.assigned_partitions);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupStatePartitionMetadata(it) => {
            share_partitions(&mut it.initializing_topics, names);
            share_partitions(&mut it.initialized_topics, names);
            share_topics(&mut it.deleting_topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::ShareGroupStatePartitionMetadata40(it) => {
            share_partitions(&mut it.initialized_topics, names);
            share_topics(&mut it.deleting_topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::StreamsGroupMetadata(it) => {
            it.last_assignment_configs.iter_mut().flatten().for_each(|it| names.tags(&mut it.unknown_tags));
            names.tags(&mut it.unknown_tags);
        }
        Value::StreamsGroupPartitionMetadata(it) => {
            topics(&mut it.topics, names);
            names.tags(&mut it.unknown_tags);
        }
        Value::StreamsGroupMemberMetadata(it) => streams_member(it, names),
        Value::StreamsGroupTargetAssignmentMetadata(it) => names.tags(&mut it.unknown_tags),
        Value::StreamsGroupTargetAssignmentMember(it) => {
            for tasks in [&mut it.active_tasks, &mut it.standby_tasks, &mut it.warmup_tasks] {
                tasks.iter_mut().for_each(|task| names.tags(&mut task.unknown_tags));
            }
            names.tags(&mut it.unknown_tags);
        }
        Value::StreamsGroupCurrentMemberAssignment(it) => {
            let lists: [&mut Vec<CurrentTaskIds<'a>>; 6] = [
                &mut it.active_tasks,
                &mut it.standby_tasks,
                &mut it.warmup_tasks,
                &mut it.active_tasks_pending_revocation,
                &mut it.standby_tasks_pending_revocation,
                &mut it.warmup_tasks_pending_revocation,
            ];
            lists.into_iter().flatten().for_each(|task| names.tags(&mut task.unknown_tags));
            names.tags(&mut it.unknown_tags);
        }
        Value::StreamsGroupTopology(it) => topology(it, names),
        Value::StreamsGroupTargetAssignmentResolvedTopicIds(it) => {
            for topics in &mut it.resolved_topic_ids_by_subtopology {
                topics.topic_ids.iter_mut().for_each(|id| names.id(id));
                names.tags(&mut topics.unknown_tags);
            }
            names.tags(&mut it.unknown_tags);
        }
        // In `in_value`.
        _ => {}
    }
}

fn classic<'a>(group: &mut GroupMetadataValue<'a>, names: &mut impl Names<'a>) {
    let protocol_type = group.protocol_type.0;
    let protocol = group.protocol.map(|protocol| protocol.0);
    names.text(Kind::Protocol, &mut group.protocol_type.0);
    opt(names, Kind::Protocol, &mut group.protocol);
    opt(names, Kind::Member, &mut group.leader);
    for member in &mut group.members {
        names.text(Kind::Member, &mut member.member_id.0);
        opt(names, Kind::Instance, &mut member.group_instance_id);
        names.text(Kind::Client, &mut member.client_id.0);
        names.text(Kind::Host, &mut member.client_host.0);
        names.payload(Payload::Subscription { protocol_type, protocol }, &mut member.subscription.0);
        names.payload(Payload::Assignment { protocol_type, protocol }, &mut member.assignment.0);
        names.tags(&mut member.unknown_tags);
    }
    names.tags(&mut group.unknown_tags);
}

fn supported<'a>(protocol: &mut ClassicProtocol<'a>, names: &mut impl Names<'a>) {
    let payload = Payload::Subscription { protocol_type: b"consumer", protocol: Some(protocol.name.0) };
    names.text(Kind::Protocol, &mut protocol.name.0);
    names.payload(payload, &mut protocol.metadata.0);
    names.tags(&mut protocol.unknown_tags);
}

fn preview_member<'a>(it: &mut ConsumerGroupMemberMetadataValue37<'a>, names: &mut impl Names<'a>) {
    opt(names, Kind::Instance, &mut it.instance_id);
    opt(names, Kind::Rack, &mut it.rack_id);
    names.text(Kind::Client, &mut it.client_id.0);
    names.text(Kind::Host, &mut it.client_host.0);
    all(names, Kind::Topic, &mut it.subscribed_topic_names);
    opt(names, Kind::Regex, &mut it.subscribed_topic_regex);
    opt(names, Kind::Protocol, &mut it.server_assignor);
    for assignor in &mut it.assignors {
        names.text(Kind::Protocol, &mut assignor.name.0);
        names.text(Kind::Unreadable, &mut assignor.metadata.0);
        names.tags(&mut assignor.unknown_tags);
    }
    names.tags(&mut it.unknown_tags);
}

fn topics<'a>(topics: &mut [TopicMetadata<'a>], names: &mut impl Names<'a>) {
    for topic in topics {
        names.id(&mut topic.topic_id);
        names.text(Kind::Topic, &mut topic.topic_name.0);
        for partition in &mut topic.partition_metadata {
            all(names, Kind::Rack, &mut partition.racks);
            names.tags(&mut partition.unknown_tags);
        }
        names.tags(&mut topic.unknown_tags);
    }
}

fn share_partitions<'a>(topics: &mut [TopicPartitionsInfo<'a>], names: &mut impl Names<'a>) {
    for topic in topics {
        names.id(&mut topic.topic_id);
        names.text(Kind::Topic, &mut topic.topic_name.0);
        names.tags(&mut topic.unknown_tags);
    }
}

fn share_topics<'a>(topics: &mut [ShareTopicInfo<'a>], names: &mut impl Names<'a>) {
    for topic in topics {
        names.id(&mut topic.topic_id);
        names.text(Kind::Topic, &mut topic.topic_name.0);
        names.tags(&mut topic.unknown_tags);
    }
}

fn streams_member<'a>(it: &mut StreamsGroupMemberMetadataValue<'a>, names: &mut impl Names<'a>) {
    opt(names, Kind::Instance, &mut it.instance_id);
    opt(names, Kind::Rack, &mut it.rack_id);
    names.text(Kind::Client, &mut it.client_id.0);
    names.text(Kind::Host, &mut it.client_host.0);
    names.text(Kind::Process, &mut it.process_id.0);
    if let Some(endpoint) = &mut it.user_endpoint {
        names.text(Kind::Host, &mut endpoint.host.0);
        names.tags(&mut endpoint.unknown_tags);
    }
    for tag in &mut it.client_tags {
        names.text(Kind::Tag, &mut tag.key.0);
        names.text(Kind::Tag, &mut tag.value.0);
        names.tags(&mut tag.unknown_tags);
    }
    names.tags(&mut it.unknown_tags);
}

fn topology<'a>(it: &mut StreamsGroupTopologyValue<'a>, names: &mut impl Names<'a>) {
    for subtopology in &mut it.subtopologies {
        all(names, Kind::Topic, &mut subtopology.source_topics);
        all(names, Kind::Regex, &mut subtopology.source_topic_regex);
        topology_topics(&mut subtopology.state_changelog_topics, names);
        all(names, Kind::Topic, &mut subtopology.repartition_sink_topics);
        topology_topics(&mut subtopology.repartition_source_topics, names);
        subtopology.copartition_groups.iter_mut().for_each(|group| names.tags(&mut group.unknown_tags));
        names.tags(&mut subtopology.unknown_tags);
    }
    names.tags(&mut it.unknown_tags);
}

fn topology_topics<'a>(topics: &mut [TopologyTopicInfo<'a>], names: &mut impl Names<'a>) {
    for topic in topics {
        names.text(Kind::Topic, &mut topic.name.0);
        topic.topic_configs.iter_mut().for_each(|setting| names.tags(&mut setting.unknown_tags));
        names.tags(&mut topic.unknown_tags);
    }
}
