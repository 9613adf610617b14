//! What is read of an old log, and what stands around the batches of a new one: files beside it, segments.
//!
//! Must not know: what becomes of records.

use super::{Job, Unit};
use crate::cli::cmd::new_log::{Metadata, OnDamage, Seeking, find_sound, read_other};
use crate::cli::input::Partition;
use crate::cli::render::damage::Found;
use crate::log::checkpoint::partition_metadata;
use crate::log::dir::OtherKind;
use crate::model::load::log_start;
use crate::rewrite::apply::SEGMENT_BYTES;
use crate::rewrite::edit::write::NewLog;
use crate::rewrite::salvage::Salvage;
use anyhow::{Result, bail};

/// Where logs are merged or numbered anew, segments grow to so many bytes, as those of this topic do.
const TOPIC_SEGMENT_BYTES: u64 = 100 << 20;

impl Job<'_> {
    /// The first offset that counts, if it is not the first that is there.
    pub(super) fn log_start(&self, partition: &Partition) -> Option<i64> {
        if self.args.ignore_log_start {
            return None;
        }
        log_start(&partition.dir.as_ref()?.path, partition.number?).filter(|start| *start > 0)
    }

    /// Finds what is sound in a log, and what is not.
    pub(super) fn survey(&mut self, partition: &Partition) -> Result<(Salvage, Found)> {
        let how = Seeking {
            log_start: self.log_start(partition),
            max_inflated: self.max_inflated(),
            on_damage: OnDamage::asked(self.args.skip_damage),
            interrupt: self.interrupt,
        };
        let (before, context) = (self.before, &*self.context);
        let (salvage, found) = find_sound(partition, &how, &mut |bytes| context.at(before + bytes))?;
        self.before += partition.bytes();
        Ok((salvage, if self.args.redact { found.without_names() } else { found }))
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        let anew = self.args.framing.renumber || self.args.framing.partitions.is_some();
        let otherwise = if anew { TOPIC_SEGMENT_BYTES } else { SEGMENT_BYTES };
        self.args.framing.segment_bytes.unwrap_or(otherwise)
    }

    /// What a unit's new logs begin with.
    pub(super) fn new_logs(&self, read: &Unit<'_>) -> Result<Vec<NewLog>> {
        let framing = &self.args.framing;
        let given = framing.topic_id.as_ref().map(|id| format!("version: 0\ntopic_id: {}", id.0).into_bytes());
        if let Some(n) = framing.partitions {
            let metadata = match given {
                Some(given) => Some(given),
                None => self.common_metadata(read)?,
            };
            return Ok((0..n)
                .map(|partition| NewLog { partition, metadata: metadata.clone(), ..NewLog::default() })
                .collect());
        }
        let mut new = Vec::new();
        for (_, partition) in read {
            let number = partition.number.unwrap_or_default();
            let metadata = match &given {
                Some(given) => Some(given.clone()),
                None => Metadata::sound(partition, self.context),
            };
            let leader_epochs = match framing.renumber {
                true => None,
                false => read_other(partition.dir.as_ref(), OtherKind::LeaderEpochs)?,
            };
            new.push(NewLog { partition: number, rolls: self.rolls(partition), metadata, leader_epochs });
        }
        Ok(new)
    }

    /// Offsets at which a segment begins: where one did.
    fn rolls(&self, partition: &Partition) -> Vec<i64> {
        let framing = &self.args.framing;
        if framing.renumber || framing.segment_bytes.is_some() {
            return Vec::new();
        }
        let start = self.log_start(partition);
        let bases = partition.segments.iter().filter_map(|segment| segment.base_offset);
        let mut rolls: Vec<_> = bases.filter(|base| start.is_none_or(|start| *base > start)).chain(start).collect();
        rolls.sort_unstable();
        rolls
    }

    /// `partition.metadata` of all partitions, in which they must agree.
    fn common_metadata(&self, read: &Unit<'_>) -> Result<Option<Vec<u8>>> {
        let mut common: Option<Vec<u8>> = None;
        for (_, partition) in read {
            let Some(bytes) = Metadata::sound(partition, self.context) else { continue };
            let id = |bytes: &[u8]| partition_metadata(bytes).topic_id;
            match &common {
                Some(common) if id(common) != id(&bytes) => {
                    bail!(
                        "{}: another topic id than the partitions before; --topic-id says which",
                        partition.path().display()
                    )
                }
                Some(_) => {}
                None => common = Some(bytes),
            }
        }
        Ok(common)
    }
}
