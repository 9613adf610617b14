//! What only the old cluster knows, and another must not be told: ids of topics, and leader epochs.
//!
//! A broker gives no offset to who asks for a topic of another id. A consumer that is given an offset with a leader epoch
//! above that of its partition waits for ever for that leader (seen with 4.4, both protocols). And a follower takes no batch
//! of a later epoch than its own leader's, so that nothing is replicated. Must not know: how batches are made.

use super::{Draft, Note};
use crate::schema::offsets::OffsetCommitValue;
use crate::schema::wire::Uuid;
use crate::schema::{Key, Value};
use std::borrow::Cow;

/// Who is to have the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Cluster {
    /// Who wrote it.
    #[default]
    Same,
    /// Another, in which topics have other ids and leader epochs begin at 0.
    Other,
}

impl Cluster {
    /// Takes out of a commit what another cluster must not be told.
    pub(super) fn apply(self, draft: &mut Draft<'_>) {
        if self == Cluster::Same {
            return;
        }
        let (Ok(key), Some(bytes)) = (Key::decode(&draft.key), draft.value.clone()) else { return };
        let Ok(mut value) = key.record_type.decode_value(&bytes) else { return };
        let Some(commit) = commit(&mut value.data) else { return };
        let before = draft.notes.len();
        if drop_topic_id(commit) {
            draft.notes.push(lost("topic-id-dropped", "topicId"));
        }
        if std::mem::replace(&mut commit.leader_epoch, -1) != -1 {
            draft.notes.push(lost("leader-epoch-dropped", "leaderEpoch"));
        }
        if draft.notes.len() > before {
            let mut out = Vec::new();
            value.encode(&mut out);
            draft.value = Some(Cow::Owned(out));
        }
    }
}

fn lost(code: &'static str, field: &'static str) -> Note {
    Note { lost: vec![field], ..Note::saying(code, "it was that of the old cluster".to_owned()) }
}

fn commit<'v, 'a>(value: &'v mut Value<'a>) -> Option<&'v mut OffsetCommitValue<'a>> {
    match value {
        Value::OffsetCommit(it) => Some(it),
        Value::LegacyOffsetCommitOfLaterVersion(it) => Some(it),
        _ => None,
    }
}

fn drop_topic_id(commit: &mut OffsetCommitValue<'_>) -> bool {
    std::mem::take(&mut commit.topic_id) != Uuid::default()
}

/// Takes the id out of a commit, if it is one; whether there was any.
pub(super) fn drop_topic_id_of(value: &mut Value<'_>) -> bool {
    commit(value).is_some_and(drop_topic_id)
}
