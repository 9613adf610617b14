//! A wreck made one log: its own segments, then what each other copy has that they lack.
//!
//! Must not know: what is told of what is lost.

use super::{FileIn, JoinedFrom, Manner, Replica, Wreck};
use crate::rewrite::guard::guard;
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::missing::compacted;
use crate::rewrite::order::order;
use crate::rewrite::plan::{Role, Source, SourceId, Sources};
use crate::rewrite::report::Outcome;
use crate::rewrite::revived::revived;
use crate::rewrite::survey::{Last, Surveyor, Wishes};
use crate::rewrite::union::ranges::{Range, merged, without};
use crate::rewrite::union::{Log, Take, Union, filled};
use crate::rewrite::walk::Walk;
use crate::rewrite::{misnamed, reached, vouched};
use std::io;

/// A wreck on its way to one log: first its own segments, then what other copies have.
pub(super) struct Gathering<'g> {
    manner: &'g Manner,
    interrupt: &'g Interrupt,
    pub sources: Sources,
    pub log: Log,
    pub joined: Vec<JoinedFrom>,
    /// The copies that are believed, and their roles.
    copies: Vec<(Role, Log)>,
}

impl<'g> Gathering<'g> {
    pub fn new(manner: &'g Manner, interrupt: &'g Interrupt) -> Self {
        let (sources, log) = (Sources::new(), Log::default());
        Gathering { manner, interrupt, sources, log, joined: Vec::new(), copies: Vec::new() }
    }

    /// The log's own segments: they come first.
    pub fn own(&mut self, wreck: &Wreck, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        let (log, files) = self.read(&wreck.own, Role::Own, progress)?;
        self.log = log;
        misnamed::tell(&mut self.log, &mut self.sources, &files, self.manner.max_inflated)?;
        self.log.log_start = wreck.log_start;
        match &wreck.folder {
            Some(folder) if wreck.own.is_empty() => {
                reached::tell_all_gone(&mut self.log, folder, &mut self.sources, &wreck.proofs);
            }
            _ => {
                let max_inflated = self.manner.max_inflated;
                vouched::believe_snapshots(&mut self.log, &wreck.proofs, &mut self.sources, max_inflated)?;
                reached::tell(&mut self.log, Role::Own, &self.sources, &wreck.proofs);
            }
        }
        Ok(())
    }

    /// Another copy's segments.
    pub fn replica(&mut self, role: Role, replica: &Replica) -> io::Result<()> {
        let proofs = &replica.proofs;
        let (mut replica, _) = self.read(&replica.files, role, &mut |_| {})?;
        reached::tell(&mut replica, role, &self.sources, proofs);
        vouched::prove_places(&mut self.log, &replica, &mut self.sources, self.manner.max_inflated)?;
        vouched::prove_places(&mut replica, &self.log, &mut self.sources, self.manner.max_inflated)?;
        let damaged = damaged(&replica);
        let mut union = Union::new(&mut self.sources, self.manner.max_inflated, self.interrupt);
        let joined = union.replica(&mut self.log, &mut replica)?;
        let guarded = self.guard(&replica, role)?;
        self.keep(JoinedFrom { role, joined, guarded, damaged, revived: Vec::new() }, replica);
        Ok(())
    }

    /// A segment file that does not count.
    pub fn leftover(&mut self, file: &FileIn) -> io::Result<()> {
        let (role, take) = (Role::Leftover, self.manner.leftovers);
        let (leftover, _) = self.read(std::slice::from_ref(file), role, &mut |_| {})?;
        let mut union = Union::new(&mut self.sources, self.manner.max_inflated, self.interrupt);
        let joined = union.leftovers(&mut self.log, &leftover, take)?;
        let guarded = if take == Take::Everything { 0 } else { self.guard(&leftover, role)? };
        self.keep(JoinedFrom { role, joined, guarded, damaged: damaged(&leftover), revived: Vec::new() }, leftover);
        Ok(())
    }

    fn guard(&mut self, copy: &Log, role: Role) -> io::Result<u64> {
        let mut walk = Walk::new(&mut self.sources, self.manner.max_inflated, self.interrupt);
        guard(&mut self.log, copy, role, &mut walk)
    }

    fn keep(&mut self, from: JoinedFrom, copy: Log) {
        if !from.joined.is_stranger {
            self.copies.push((from.role, copy));
        }
        self.joined.push(from);
    }

    /// When all have given what they have: what of the rest compaction took, and what may have come back to life.
    pub fn explain(&mut self) -> io::Result<()> {
        let Gathering { manner, interrupt, sources, log, joined, copies } = self;
        let mut walk = Walk::new(sources, manner.max_inflated, interrupt);
        for (_, copy) in &*copies {
            let ranges = merged(compacted(log, copy, &mut walk)?);
            log.incidents.iter_mut().for_each(|incident| filled::explain(incident, &ranges, copy));
        }
        filled::explain_silence(&mut log.incidents);
        for from in joined.iter_mut().filter(|from| from.role != Role::Leftover) {
            let Some((_, copy)) = copies.iter().find(|(role, _)| *role == from.role) else { continue };
            from.revived = revived(log, copy, from.role, &mut walk)?;
        }
        filled::settle(log);
        Ok(())
    }

    /// Segments of one copy as a log, and which files they are.
    fn read(
        &mut self,
        files: &[FileIn],
        role: Role,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<(Log, Vec<SourceId>)> {
        let Gathering { manner, interrupt, sources, .. } = self;
        // What is doubtful in another copy fills nothing.
        let keep_doubtful = manner.wishes.keep_doubtful && role == Role::Own;
        let mut surveyor = Surveyor::new(Wishes { keep_doubtful, ..manner.wishes }, manner.max_inflated, interrupt);
        let mut before = 0;
        let mut ids = Vec::new();
        for (i, file) in files.iter().enumerate() {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let path = file.path.clone();
            let id = sources.add(Source { path, name, base_offset: file.base_offset, len: file.len, role });
            let last = if i + 1 == files.len() { Last::Yes } else { Last::No };
            ids.push(id);
            let segment = sources.open(id)?;
            surveyor.segment(id, segment, last, &mut |position| progress(before + position))?;
            before += file.len;
        }
        let survey = order(surveyor.finish(), sources, manner.wishes.mend, manner.max_inflated, interrupt)?;
        let mut log = Log::of(survey);
        Union::new(sources, manner.max_inflated, interrupt).put_back_displaced(&mut log)?;
        if role != Role::Own {
            tell_what_stays(&mut log, &mut Walk::new(sources, manner.max_inflated, interrupt))?;
        }
        Ok((log, ids))
    }
}

/// Of batches that stay in part, another copy still gives what stays.
fn tell_what_stays(log: &mut Log, walk: &mut Walk<'_>) -> io::Result<()> {
    let Log { parts, incidents, .. } = log;
    for part in parts {
        let incident = part.incident.and_then(|place| incidents.get_mut(place));
        let Some(incident) = incident.filter(|it| matches!(it.outcome, Outcome::Partly { .. })) else { continue };
        let stay: Vec<Range> = walk.offsets(&part.piece)?.into_iter().map(|offset| (offset, offset)).collect();
        let lost = matches!(incident.outcome, Outcome::Partly { lost, .. } if lost > 0);
        let lacks = incident.lacks().into_iter().filter(|_| lost);
        incident.missing = Some(lacks.flat_map(|range| without(range, &stay)).collect());
    }
    Ok(())
}

fn damaged(log: &Log) -> u64 {
    log.incidents.iter().filter(|incident| incident.outcome.is_damage()).count() as u64
}
