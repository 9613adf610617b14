//! Whose records lie in the damage: groups that fall back to older values, and transactions that lost their end.
//!
//! Only a damaged log pays for this: it is read once more.
//! Must not know: how damage is found.

use crate::audit::{Code, Fact, Finding};
use crate::escape::visible;
use crate::log::mend::{Change, likely};
use crate::log::{BadRecord, Batch, Inflater};
use crate::model::load::{Loading, Until, load};
use crate::model::losses::{Kept, Losses, LostAt, LostKey, LostRecord, Word, is_marker};
use crate::model::replay::Helper;
use crate::model::rules::Rules;
use crate::rewrite::look::reads_whole;
use crate::schema::{Key, KeyFields, RecordType, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// So many keys of a group are named in its finding; the rest are counted.
const MOST_KEYS_OF_A_GROUP: usize = 100;

/// Lost records, as the walk meets them.
#[derive(Debug)]
pub(super) struct Lost {
    losses: Losses,
    inflater: Inflater,
    segment: u32,
    /// A marker was lost.
    has_marker: bool,
}

impl Lost {
    /// None yet. Batches are inflated up to a limit, in bytes.
    pub(super) fn new(max_inflated: usize) -> Self {
        Lost { losses: Losses::new(), inflater: Inflater::with_limit(max_inflated), segment: 0, has_marker: false }
    }

    pub(super) fn begin_segment(&mut self, number: u64) {
        self.segment = u32::try_from(number).unwrap_or(u32::MAX);
    }

    /// A batch is lost. Says how many of its records can still be read, and how many cannot.
    pub(super) fn batch(&mut self, batch: &Batch<'_>) -> (u64, u64) {
        self.has_marker |= is_marker(batch, &mut self.inflater);
        self.losses.lost_batch(self.segment, batch, &mut self.inflater)
    }

    /// A batch is lost whose CRC is wrong. Where the CRC points to the one byte that was changed, its records are read as
    /// they were before; that change is given too.
    pub(super) fn damaged_batch(&mut self, batch: &Batch<'_>) -> ((u64, u64), Option<Change>) {
        let mut bytes = batch.bytes().to_vec();
        let change = likely(batch, |mended| reads_whole(mended, &mut self.inflater));
        if let Some(change) = change
            && let Some(byte) = bytes.get_mut(change.at as usize)
        {
            *byte = change.new;
        }
        self.losses.vouched_by(if change.is_some() { Word::Mended } else { Word::Doubtful });
        let counts = self.batch(&Batch::new(&bytes, batch.position()).unwrap_or(*batch));
        self.losses.vouched_by(Word::Sound);
        (counts, change)
    }

    /// A record is lost.
    pub(super) fn record(&mut self, batch: &Batch<'_>, record: &BadRecord<'_>) {
        let header = batch.header();
        if header.control || record.key.is_none() {
            return;
        }
        let offset = record.offset.unwrap_or(header.last_offset);
        self.losses.lost(&LostRecord {
            at: LostAt { segment: self.segment, position: batch.position() },
            offset,
            said: Some(offset),
            timestamp: record.timestamp.unwrap_or(-1),
            producer_id: header.producer_id,
            key: record.key,
            value: record.value.map(Some),
        });
    }

    /// A finding for each group that falls back to an older value, and for each transaction that lost its end.
    pub(super) fn finish(mut self, segments: &[PathBuf], max_inflated: usize) -> io::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        if self.has_marker {
            findings.extend(ends_lost(segments, max_inflated)?);
        }
        if self.losses.is_empty() {
            return Ok(findings);
        }
        self.losses.resolve(segments, max_inflated)?;
        let mut groups: BTreeMap<Box<[u8]>, Vec<LostKey>> = BTreeMap::new();
        for key in self.losses.finish() {
            if let (Some(group), None, None) = (&key.group, key.superseded_by, key.aborted_by) {
                groups.entry(group.clone()).or_default().push(key);
            }
        }
        findings.extend(groups.iter().filter_map(|(group, keys)| of_group(group, keys, segments)));
        Ok(findings)
    }
}

fn of_group(group: &[u8], keys: &[LostKey], segments: &[PathBuf]) -> Option<Finding> {
    let last = keys.iter().max_by_key(|key| key.offset)?;
    let name = segments.get(last.at.segment as usize).and_then(|path| path.file_name());
    let shown: Vec<_> = keys.iter().take(3).map(words).collect();
    let more = keys.len() - shown.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    // Even the group's name may be none that was written.
    let doubtful = keys.iter().all(|key| key.word == Word::Doubtful);
    let by = if doubtful { ", by its damaged bytes" } else { "" };
    let message = format!("its latest record lies in the damage{by}: {}{more}", shown.join(", "));
    let facts = keys.iter().take(MOST_KEYS_OF_A_GROUP).map(key_facts).collect();
    let finding = Finding::new(Code::LatestLost, message).group(group).position(last.at.position).offset(last.offset);
    let finding = finding.file(name.unwrap_or_default().to_string_lossy());
    Some(finding.fact("keys", keys.len() as u64).fact("doubtful", doubtful).fact("lost", Fact::List(facts)))
}

fn words(lost: &LostKey) -> String {
    let (what, said) = (subject(&lost.key), committed(&lost.key, &lost.value));
    let from = said.map(|n| format!(" at {n}")).unwrap_or_default();
    let to = match &lost.fallback {
        None => "is gone".to_owned(),
        Some(before) => match (committed(&lost.key, &before.value), &before.value) {
            (Some(n), _) if said == Some(n) => return format!("{what} stays at {n}, by an older record"),
            (Some(n), _) => format!("falls back to {n}"),
            (None, Kept::Tombstone) => "is deleted again".to_owned(),
            (None, _) => format!("falls back to the record at offset {}", before.offset),
        },
    };
    format!("{what}{from} {to}")
}

/// What a key names, within its group.
fn subject(key: &[u8]) -> String {
    let Ok(key) = Key::decode(key) else { return "a key that cannot be read".to_owned() };
    let text = visible;
    match &key.fields {
        KeyFields::Offset(it) => format!("{}-{}", text(it.topic.0), it.partition),
        KeyFields::Member(it) => format!("{} of member {}", key.record_type.name(), text(it.member_id.0)),
        _ => key.record_type.name().to_owned(),
    }
}

/// The committed offset in a value, if it is that of a commit.
fn committed(key: &[u8], value: &Kept) -> Option<i64> {
    let (record_type, bytes) = (Key::decode(key).ok()?.record_type, value.bytes()?);
    match record_type.decode_value(bytes).ok()?.data {
        Value::OffsetCommit(it) => Some(it.offset),
        Value::LegacyOffsetCommitOfLaterVersion(it) => Some(it.offset),
        Value::LegacyOffsetCommit(it) => Some(it.offset),
        _ => None,
    }
}

fn key_facts(lost: &LostKey) -> Fact {
    let key = Key::decode(&lost.key).ok();
    let mut facts = vec![
        ("type", key.as_ref().map(|key| i32::from(key.record_type.number())).into()),
        ("name", key.as_ref().map(|key| RecordType::name(key.record_type)).into()),
    ];
    if let Some((topic, partition)) = key.as_ref().and_then(Key::topic_partition) {
        facts.push(("topic", Fact::Name(topic.to_vec())));
        facts.push(("partition", partition.into()));
        facts.push(("lostCommit", committed(&lost.key, &lost.value).into()));
    }
    if let Some(member) = key.as_ref().and_then(Key::member) {
        facts.push(("member", Fact::Name(member.to_vec())));
    }
    facts.push(("lostOffset", lost.offset.into()));
    facts.push(("fallbackOffset", lost.fallback.as_ref().map(|it| it.offset).into()));
    if let Some(before) = &lost.fallback {
        facts.push(("fallbackCommit", committed(&lost.key, &before.value).into()));
    }
    Fact::Object(facts)
}

/// Transactions whose end lies in the damage: a broker sees them open, or ended by the producer's next marker.
fn ends_lost(segments: &[PathBuf], max_inflated: usize) -> io::Result<Vec<Finding>> {
    let how = Loading {
        rules: Rules::default(),
        until: Until::End,
        log_start: None,
        max_inflated,
        helper: Helper::None,
        wanted: &|_| true,
    };
    let state = load(segments, &how, &mut |_| {})?;
    let mut findings = Vec::new();
    let mut told = BTreeSet::new();
    for (producer_id, open) in &state.open {
        let Some(marker) = open.marker_lost else { continue };
        let names = open.commits.keys().filter_map(|key| state.offsets.names(key.prefix));
        let groups: BTreeSet<_> = names.map(|(group, _)| group.to_vec()).collect();
        let message = format!(
            "the end of a transaction of producer {producer_id} lies in the damage: its commits wait for ever, and the \
             cleaner stops at them"
        );
        let finding = Finding::new(Code::MarkerLost, message).offset(marker);
        let finding = finding.fact("producerId", *producer_id).fact("firstOffset", open.first_offset);
        let finding = finding.fact("producerEpoch", i32::from(open.producer_epoch));
        findings.push(finding.fact("groups", Fact::List(groups.iter().cloned().map(Fact::Name).collect())));
        told.extend(groups);
    }
    // Those whose producer ended a later transaction: what a reader takes for its end need not be theirs.
    for (group, marker) in state.doubts.ends_lost.iter().filter(|(group, _)| !told.contains(*group)) {
        let message = "the end of a transaction with its commits lies in the damage: they may have been committed, and \
                       count now as the producer's next transaction ended";
        findings.push(Finding::new(Code::MarkerLost, message).offset(*marker).group(group));
    }
    findings.sort_by_key(|finding| finding.offset);
    Ok(findings)
}
