//! Offsets that go back, which no broker starts with: finds what does not belong where it stands.
//!
//! Two things are told apart. A *misplaced* batch, whose base offset is damaged (no CRC covers it), does not fit between
//! its neighbours; where its records fill the gap between them exactly, its place is known. A *range written twice*
//! goes on from where it went back: of equal contents the first is kept, else that of the higher leader epoch, else the
//! later. Must not know: other copies.

mod back;
mod chain;
mod stray;

use super::apply::MOST_OFFSETS;
use super::bounds::{bound, doubt_epochs};
use super::interrupt::Interrupt;
use super::look::look;
use super::names::doubt_names;
use super::plan::{Piece, SourceId, Sources, Thin, frames, patched_frames};
use super::report::{Incident, Outcome};
use super::survey::{Entry, Part, Survey};
use super::tower::Tower;
use super::vouched::doubt_behind_holes;
use crate::log::Inflater;
use crate::log::batch::PREFIX_LENGTH;
use crate::log::mend::Change;
use back::{Kind, Stray, exchange, put_back, tell};
use chain::{Chain, part_at};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

/// No log comes that far: ten million records a second are as many in 200 years.
const UNBELIEVABLE: i64 = 1 << 56;
const CODE: &str = "offset-order";

/// Brings what was seen into ascending order of offsets, and says of every stretch that is left out which offsets it can
/// have had.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub fn order(
    mut survey: Survey,
    sources: &mut Sources,
    mend: bool,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Survey> {
    doubt_names(&mut survey, sources, max_inflated)?;
    doubt_epochs(&mut survey.entries, &mut survey.incidents, sources)?;
    let Survey { entries, incidents, bases, end_by_name, .. } = survey;
    let mut inflater = Inflater::with_limit(max_inflated);
    let chain = Chain::of(&entries, sources, &mut inflater)?;
    let base_of = bases.iter().filter_map(|(id, base)| Some((*id, (*base)?))).collect();
    let mut sorter = Sorter {
        sources,
        inflater,
        incidents,
        base_of,
        out: Tower::default(),
        input: entries.into(),
        chain,
        overruled: Vec::new(),
        strays: Vec::new(),
        mend,
        interrupt,
    };
    sorter.run()?;
    sorter.restore_what_nothing_replaced()?;
    let Sorter { mut incidents, out, strays, sources, mut inflater, .. } = sorter;
    let mut entries = out.finish();
    let (exchanged, strays) = exchange(&mut entries, strays);
    let (back, strays) = put_back(&mut entries, strays, sources, &mut inflater)?;
    let displaced = stray::in_order(strays);
    let entries = join(entries);
    let (entries, doubts) = doubt_behind_holes(entries, &mut incidents, sources, max_inflated)?;
    let mut survey = Survey { entries, incidents: Vec::new(), bases, end_by_name, displaced };
    doubt_epochs(&mut survey.entries, &mut incidents, sources)?;
    survey.incidents = incidents;
    bound(&mut survey);
    tell(&mut survey.incidents, &[exchanged, back].concat());
    doubts.iter().for_each(|doubt| doubt.tell(&mut survey.incidents));
    Ok(survey)
}

struct Sorter<'s> {
    sources: &'s mut Sources,
    inflater: Inflater,
    incidents: Vec<Incident>,
    base_of: HashMap<SourceId, i64>,
    /// What is in order.
    out: Tower,
    /// What is to come, in the order of the files.
    input: VecDeque<Entry>,
    /// What of it does not fit the rest.
    chain: Chain,
    /// What something later overruled, and whether by a higher leader epoch.
    overruled: Vec<(Part, bool)>,
    /// Sound batches that do not belong where they stand.
    strays: Vec<Stray>,
    mend: bool,
    interrupt: &'s Interrupt,
}

/// Key and value of a record.
type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What stands before a place in the order.
#[derive(Debug, Clone, Copy)]
struct Before {
    /// The last offset, or that before the segment's first.
    last: i64,
}

impl Sorter<'_> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(entry) = self.input.pop_front() {
            self.interrupt.check()?;
            let part = match entry {
                Entry::Gap(_) => {
                    self.out.push(entry);
                    continue;
                }
                Entry::Part(part) => part,
            };
            let cuts = self.chain.cuts(&part.piece);
            if !cuts.is_empty() {
                let parts = part_at(part, &cuts, self.sources, &mut self.inflater)?;
                if parts.len() <= cuts.len() {
                    return Err(io::Error::other("a file changed while it was read"));
                }
                parts.into_iter().rev().for_each(|part| self.input.push_front(Entry::Part(part)));
                continue;
            }
            if let Some(next) = self.chain.goes_on_behind(&part.piece) {
                self.outlier(part, next);
                continue;
            }
            let floor = self.floor(&part.piece);
            if part.piece.first > floor.last && self.is_near(&part.piece, floor) {
                self.out.push(Entry::Part(part));
                continue;
            }
            match self.split_first(part)? {
                Some((head, rest)) => {
                    if let Some(rest) = rest {
                        self.input.push_front(Entry::Part(rest));
                    }
                    self.settle(head)?;
                }
                None => return Err(io::Error::other("a file changed while it was read")),
            }
        }
        Ok(())
    }

    fn base(&self, piece: &Piece) -> Option<i64> {
        self.base_of.get(&piece.source).copied()
    }

    fn floor(&self, piece: &Piece) -> Before {
        let base = self.base(piece).map_or(i64::MIN, |base| base.saturating_sub(1));
        Before { last: self.top().map_or(-1, |top| top.piece.last).max(base).max(-1) }
    }

    /// Whether a piece can stand in its segment at all.
    fn is_near(&self, piece: &Piece, floor: Before) -> bool {
        let from = self.base(piece).unwrap_or(floor.last.saturating_add(1));
        piece.first.saturating_sub(from) <= MOST_OFFSETS
            || piece.first == floor.last.saturating_add(1)
            || self.top().is_some_and(|top| top.piece.source == piece.source && top.piece.last - from > MOST_OFFSETS)
            || self.goes_on_behind(piece)
    }

    /// Whether what stands behind a jump bears it out: old cleaners merged segments that are far apart, which a broker
    /// splits when it loads them. A base offset alone that is damaged is followed by one that goes back. The last of a log
    /// is believed, as a broker does, unless no log can have come that far.
    fn goes_on_behind(&self, piece: &Piece) -> bool {
        piece.batches > 1
            || match self.next_first() {
                Some(next) => next > piece.last,
                None => piece.last < UNBELIEVABLE,
            }
    }

    fn top(&self) -> Option<&Part> {
        self.out.top()
    }

    fn next_first(&self) -> Option<i64> {
        self.input.iter().find_map(|entry| match entry {
            Entry::Part(part) if !self.chain.is_outlier(&part.piece) => Some(part.piece.first),
            _ => None,
        })
    }

    /// Parts a piece behind its first batch.
    fn split_first(&mut self, part: Part) -> io::Result<Option<(Part, Option<Part>)>> {
        if part.piece.batches <= 1 {
            return Ok(Some((part, None)));
        }
        let segment = self.sources.open(part.piece.source)?;
        let Some(batch) = frames(segment.bytes(), part.piece.from, part.piece.to).next() else { return Ok(None) };
        let seen = look(&batch, &mut self.inflater);
        let mut head = part.piece.clone();
        head.to = head.from + batch.len();
        (head.first, head.last, head.batches, head.records) = (seen.first, seen.last, 1, seen.records);
        let mut rest = part.piece;
        rest.from = head.to;
        rest.batches -= 1;
        rest.records = rest.records.saturating_sub(head.records);
        let Some(next) = frames(segment.bytes(), rest.from, rest.to).next() else { return Ok(None) };
        rest.first = look(&next, &mut self.inflater).first;
        Ok(Some((Part { piece: head, incident: part.incident }, Some(Part { piece: rest, incident: part.incident }))))
    }

    /// Takes the topmost piece apart into batches.
    fn explode_top(&mut self) -> io::Result<()> {
        let Some(part) = self.out.top().filter(|part| part.piece.batches > 1).cloned() else { return Ok(()) };
        let segment = self.sources.open(part.piece.source)?;
        let mut singles = Vec::new();
        for batch in frames(segment.bytes(), part.piece.from, part.piece.to) {
            let look = look(&batch, &mut self.inflater);
            let mut piece = part.piece.clone();
            (piece.from, piece.to) = (batch.position(), batch.position() + batch.len());
            (piece.first, piece.last, piece.batches, piece.records) = (look.first, look.last, 1, look.records);
            singles.push(Part { piece, incident: part.incident });
        }
        self.out.replace_top(singles);
        Ok(())
    }

    /// What stands below the topmost part.
    fn below_top(&self) -> i64 {
        let mut parts = self.out.downwards();
        let Some(top) = parts.next() else { return -1 };
        let base = self.base(&top.piece).map_or(i64::MIN, |base| base.saturating_sub(1));
        parts.next().map_or(-1, |below| below.piece.last).max(base).max(-1)
    }

    /// A batch that is not above what stands before it, or far above.
    fn settle(&mut self, head: Part) -> io::Result<()> {
        let floor = self.floor(&head.piece);
        let span = head.piece.last.saturating_sub(head.piece.first).saturating_add(1);
        let next = self.next_first();
        let goes_back = head.piece.first <= floor.last;
        if goes_back {
            self.explode_top()?;
        }
        let yields = goes_back && !(self.is_borne_out_less(&head.piece) && self.chain.is_light(&head.piece));
        if let Some(top) = self.top().filter(|_| yields) {
            let (top, below) = (top.clone(), self.below_top());
            let top_span = top.piece.last.saturating_sub(top.piece.first).saturating_add(1);
            let fits = below < head.piece.first && head.piece.first - below - 1 == top_span;
            let stands_well = top.piece.first == below.saturating_add(1);
            let alone = below < head.piece.first
                && head.piece.last < top.piece.first
                && next.is_none_or(|next| next <= top.piece.last);
            if !stands_well && (fits || alone) && !(fits && self.is_likelier_misplaced(&head, &top, below, next)) {
                let place = self.out.take_top();
                self.input.push_front(Entry::Part(head));
                self.misplaced(top, fits.then_some(below.saturating_add(1)), place);
                return Ok(());
            }
        }
        if yields && self.run_on_top(&head, next) {
            self.input.push_front(Entry::Part(head));
            return Ok(());
        }
        if goes_back && let Some(kept) = self.if_repeated(&head)? {
            return self.repeated(head, kept);
        }
        if goes_back && self.run_from(&head) {
            return Ok(());
        }
        let fits = next.is_some_and(|next| next > floor.last && next - floor.last - 1 == span);
        if fits || !goes_back || is_hurt_in_front(&head) {
            let place = self.out.len();
            let true_first = if fits { Some(floor.last.saturating_add(1)) } else { self.right_behind(next) };
            self.misplaced(head, true_first, place);
            return Ok(());
        }
        let goes_on = next.is_none_or(|next| next > floor.last);
        let is_of_top = self.top().is_some_and(|top| top.piece.epoch <= head.piece.epoch);
        let is_older = self.out.greatest_epoch_from(head.piece.first).is_some_and(|it| it > head.piece.epoch);
        if is_older && !(goes_on && is_of_top) {
            return self.overruled_by_before(head);
        }
        if !self.is_written_anew(&head, next) {
            let place = self.out.len();
            let behind = self.right_behind(next);
            self.misplaced(head, behind, place);
            return Ok(());
        }
        self.written_twice(head)
    }

    /// Whether the rest of the log bears a piece out less than what is on top: that does not make way for it.
    fn is_borne_out_less(&self, piece: &Piece) -> bool {
        self.chain.is_odd(piece) && self.top().is_some_and(|top| !self.chain.is_odd(&top.piece))
    }

    /// Whether a batch, put right behind the one on top, fills what is free there, as that one does behind `below`; and if
    /// fewer bits of its base offset would be damaged.
    fn is_likelier_misplaced(&self, head: &Part, top: &Part, below: i64, next: Option<i64>) -> bool {
        let (right, top_right) = (top.piece.last.saturating_add(1), below.saturating_add(1));
        let end = right.saturating_add(head.piece.last.saturating_sub(head.piece.first)).saturating_add(1);
        let bits = |said: i64, right: i64| (said ^ right).count_ones();
        next == Some(end) && bits(head.piece.first, right) < bits(top.piece.first, top_right)
    }

    /// Whether a batch that collides with what stands before it can be the start of a range that was written anew. Alone
    /// among batches that fit their neighbours it is the outlier, for no CRC covers its base offset.
    fn is_written_anew(&self, head: &Part, next: Option<i64>) -> bool {
        // No segment holds what lies below its name, unless all of it does.
        let is_below = |base: i64| head.piece.first < base && next.is_some_and(|next| next >= base);
        if self.base(&head.piece).is_some_and(is_below) {
            return false;
        }
        let goes_on = next.is_some_and(|next| next > head.piece.last);
        // A file's name vouches for its first batch.
        let by_name = head.piece.from == 0 && self.base(&head.piece) == Some(head.piece.first);
        let floor = self.floor(&head.piece).last;
        let runs_on = |next: i64| next == head.piece.last.saturating_add(1) || next <= floor;
        // Alone among what the rest bears out, it must at least go on right behind itself.
        let is_odd = self.is_borne_out_less(&head.piece);
        let in_order = head.piece.last > floor && !is_odd || next.is_some_and(runs_on);
        // A higher epoch is no proof where the next batch goes on elsewhere: then the base offset alone is wrong.
        let by_epoch = next.is_none_or(runs_on)
            && self.out.greatest_epoch_from(head.piece.first).is_some_and(|epoch| epoch < head.piece.epoch);
        by_epoch || by_name || goes_on && in_order
    }

    /// Where the last batch of a log must begin: right behind the one before it, if nothing is lost between them.
    fn right_behind(&self, next: Option<i64>) -> Option<i64> {
        let last = self.top().filter(|_| next.is_none() && self.out.ends_in_part())?.piece.last;
        last.checked_add(1)
    }

    /// A batch whose base offset is not to be believed. If its place is known it is put there, on request.
    fn misplaced(&mut self, mut part: Part, true_first: Option<i64>, place: usize) {
        let said = part.piece.first;
        if true_first == Some(said) {
            // It is its segment's name that does not fit.
            return self.out.put(place, Entry::Part(part));
        }
        let stray = self.stray_of(&part, true_first);
        let mut incident = incident_of(&part.piece, CODE, Outcome::Lost);
        incident.message = format!("base offset {said} does not fit between its neighbours");
        let behind = |first: i64| first.saturating_add(part.piece.last.saturating_sub(part.piece.first));
        (incident.first, incident.last) = (true_first, true_first.map(behind));
        let field = match true_first {
            Some(first) => self.base_offset_patch(&part.piece, first),
            None => Vec::new(),
        };
        if let Some(first) = true_first {
            incident.message.push_str(&format!("; offset {first} would"));
        }
        if self.mend && !field.is_empty() {
            let first = true_first.unwrap_or_default();
            let span = part.piece.last - part.piece.first;
            (part.piece.first, part.piece.last) = (first, first.saturating_add(span));
            (incident.first, incident.last) = (Some(part.piece.first), Some(part.piece.last));
            let patch = part.piece.edit.patch.iter().copied();
            part.piece.edit.patch = patch.chain(field.iter().map(|change| (change.at, change.new))).collect();
            incident.outcome = Outcome::Mended(field);
            let told = self.tell(part.incident, incident);
            part.incident = Some(told);
            self.strays.extend(stray.map(|(part, kind)| Stray { part, incident: told, kind }));
            self.out.put(place, Entry::Part(part));
            return;
        }
        incident.would_mend = field.last().copied();
        let told = self.tell(part.incident, incident);
        self.strays.extend(stray.map(|(part, kind)| Stray { part, incident: told, kind }));
        self.out.put(place, Entry::Gap(told));
    }

    /// A batch that is not to stay where it stands, as it is, if it may have been moved: what else it may be.
    fn stray_of(&self, part: &Part, true_first: Option<i64>) -> Option<(Part, Kind)> {
        if part.incident.is_some() || !part.piece.edit.is_none() {
            return None;
        }
        let kind = match (true_first, self.next_first()) {
            (Some(first), _) => Kind::Fits(first),
            (None, Some(next)) => {
                let before = self.floor(&part.piece).last;
                let room = next.saturating_sub(before).saturating_sub(1);
                let span = part.piece.last.saturating_sub(part.piece.first).saturating_add(1);
                if room < span { Kind::Displaced } else { Kind::Loose(before, next) }
            }
            (None, None) => return None,
        };
        Some((part.clone(), kind))
    }

    /// Takes an incident up, in place of what was said of the same batch before: that its head was put right. Says where.
    fn tell(&mut self, before: Option<usize>, mut incident: Incident) -> usize {
        let old = before.and_then(|place| Some((place, self.incidents.get_mut(place)?)));
        let Some((place, old)) = old.filter(|(_, old)| matches!(old.outcome, Outcome::Mended(_))) else {
            self.incidents.push(incident);
            return self.incidents.len() - 1;
        };
        incident.message = format!("{}; {}", old.message, incident.message);
        incident.producer = old.producer;
        if let (Outcome::Mended(all), Outcome::Mended(more)) = (&old.outcome, &mut incident.outcome) {
            more.splice(0..0, all.iter().copied());
        }
        *old = incident;
        place
    }

    /// What to change of a batch's first eight bytes for it to begin at an offset. A wrapper of magic 1 names its last
    /// one; the offsets inside one of magic 0 are the log's own, and cannot be moved.
    fn base_offset_patch(&mut self, piece: &Piece, first: i64) -> Vec<Change> {
        let Ok(segment) = self.sources.open(piece.source) else { return Vec::new() };
        let mut room = Vec::new();
        let range = (piece.from, piece.to);
        let Some(batch) = patched_frames(segment.bytes(), range, &piece.edit.patch, &mut room).next() else {
            return Vec::new();
        };
        let header = batch.header();
        let stored = header.base_offset;
        let is_wrapper = header.magic < 2 && header.codec != crate::log::Codec::None;
        if is_wrapper && header.magic == 0 {
            return Vec::new();
        }
        let right = if is_wrapper { first.saturating_add(piece.last - piece.first) } else { first };
        let pairs = stored.to_be_bytes().into_iter().zip(right.to_be_bytes()).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(at, (old, new))| Change { at: at as u32, old, new }).collect()
    }

    /// If every record of a batch at an offset that is taken stands there with the same contents: how many stand behind
    /// all that is taken.
    fn if_repeated(&mut self, head: &Part) -> io::Result<Option<u64>> {
        let mut there = BTreeMap::new();
        let top_last = self.top().map_or(i64::MIN, |top| top.piece.last);
        let range = (head.piece.first, head.piece.last);
        let parts: Vec<Piece> = self.out.overlapping(range).map(|part| part.piece.clone()).collect();
        for piece in &parts {
            self.records_of(piece, &head.piece, &mut there)?;
        }
        let mut here = BTreeMap::new();
        self.records_of(&head.piece, &head.piece, &mut here)?;
        let taken = |offset: &i64| *offset <= top_last;
        let equal =
            here.iter().filter(|(offset, _)| taken(offset)).all(|(offset, said)| there.get(offset) == Some(said));
        let any = here.keys().any(taken);
        Ok((equal && any).then(|| here.keys().filter(|offset| !taken(offset)).count() as u64))
    }

    fn records_of(&mut self, piece: &Piece, within: &Piece, all: &mut BTreeMap<i64, Contents>) -> io::Result<()> {
        let segment = self.sources.open(piece.source)?;
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let mut room = Vec::new();
        for batch in patched_frames(segment.bytes(), (piece.from, piece.to), &piece.edit.patch, &mut room) {
            for record in batch.records(&mut self.inflater).by_ref().flatten() {
                if (within.first..=within.last).contains(&record.offset) {
                    all.insert(record.offset, (owned(record.key), owned(record.value)));
                }
            }
        }
        Ok(())
    }

    fn repeated(&mut self, mut head: Part, behind: u64) -> io::Result<()> {
        let floor = self.floor(&head.piece);
        // A copy that was put over other bytes leaves their offsets behind.
        let leaves_room = match self.input.front() {
            Some(Entry::Part(next)) => next.piece.first > floor.last.saturating_add(1),
            _ => false,
        };
        if leaves_room && behind == 0 {
            let mut incident = incident_of(&head.piece, CODE, Outcome::Lost);
            let (first, last) = (head.piece.first, head.piece.last);
            let offsets = if first == last { format!("offset {first}") } else { format!("offsets {first} to {last}") };
            incident.message = format!("a copy of what stands before, of {offsets}, is in place of what was here");
            (incident.is_batches, incident.first, incident.last) = (false, None, None);
            let told = self.tell(head.incident, incident);
            self.out.push(Entry::Gap(told));
            return Ok(());
        }
        let mut incident = incident_of(&head.piece, CODE, Outcome::Repeated);
        incident.message = "offsets that stand before it too, with the same contents".to_owned();
        let keeps = behind > 0 && head.piece.last > floor.last;
        incident.last = incident.last.map(|last| last.min(floor.last));
        if let Some(last) = self.incidents.last_mut().filter(|last| goes_on(last, &incident) && !keeps) {
            last.length += incident.length;
            last.last = incident.last;
            return Ok(());
        }
        self.incidents.push(incident);
        let place = self.incidents.len() - 1;
        if !keeps {
            self.out.push(Entry::Gap(place));
            return Ok(());
        }
        cut(&mut head.piece, floor.last.saturating_add(1), i64::MAX, behind);
        head.incident = Some(place);
        self.out.push(Entry::Part(head));
        Ok(())
    }

    /// A range that goes back and on from there: one of the two is kept.
    fn written_twice(&mut self, head: Part) -> io::Result<()> {
        let first = head.piece.first;
        let greatest = self.out.greatest_epoch_from(first);
        let by_epoch = greatest.is_some_and(|greatest| greatest < head.piece.epoch);
        loop {
            self.explode_top()?;
            let Some(top) = self.top().filter(|top| top.piece.last >= first).cloned() else { break };
            let place = self.out.take_top();
            if top.piece.first >= first {
                self.overruled.push((top, by_epoch));
                continue;
            }
            self.cut_behind(top, first, place)?;
        }
        self.out.push(Entry::Part(head));
        Ok(())
    }

    /// Keeps of a part what lies below an offset.
    fn cut_behind(&mut self, mut part: Part, below: i64, place: usize) -> io::Result<()> {
        let mut offsets = BTreeMap::new();
        let whole = part.piece.clone();
        self.records_of(&whole, &whole, &mut offsets)?;
        let stay = offsets.range(..below).count() as u64;
        let mut incident = incident_of(&part.piece, CODE, Outcome::PartlyOverruled);
        incident.first = Some(below);
        incident.message = "other contents stand at these offsets further on".to_owned();
        if stay == 0 {
            incident.outcome = Outcome::Overruled;
        }
        self.incidents.push(incident);
        let incident = self.incidents.len() - 1;
        if stay == 0 {
            self.out.put(place, Entry::Gap(incident));
        } else {
            cut(&mut part.piece, i64::MIN, below - 1, stay);
            part.incident = Some(incident);
            self.out.put(place, Entry::Part(part));
        }
        Ok(())
    }

    fn overruled_by_before(&mut self, mut head: Part) -> io::Result<()> {
        let floor = self.floor(&head.piece);
        let mut incident = incident_of(&head.piece, CODE, Outcome::Overruled);
        incident.message = "other contents of a higher leader epoch stand at these offsets before".to_owned();
        incident.last = incident.last.map(|last| last.min(floor.last));
        let mut offsets = BTreeMap::new();
        let whole = head.piece.clone();
        self.records_of(&whole, &whole, &mut offsets)?;
        let stay = offsets.range(floor.last.saturating_add(1)..).count() as u64;
        if stay > 0 {
            incident.outcome = Outcome::PartlyOverruled;
        }
        self.incidents.push(incident);
        let place = self.incidents.len() - 1;
        if stay == 0 {
            self.out.push(Entry::Gap(place));
            return Ok(());
        }
        cut(&mut head.piece, floor.last.saturating_add(1), i64::MAX, stay);
        head.incident = Some(place);
        self.out.push(Entry::Part(head));
        Ok(())
    }

    /// What was overruled stays after all where nothing came in its place; the rest is said.
    fn restore_what_nothing_replaced(&mut self) -> io::Result<()> {
        let mut overruled = std::mem::take(&mut self.overruled);
        overruled.sort_by_key(|(part, _)| (part.piece.first, part.piece.source, part.piece.from));
        for (part, by_epoch) in overruled {
            let last = self.top().map_or(-1, |top| top.piece.last);
            if part.piece.first > last && !by_epoch {
                self.out.push(Entry::Part(part));
                continue;
            }
            if self.if_repeated(&part)? == Some(0) {
                self.tell_overruled(
                    &part.piece,
                    Outcome::Repeated,
                    "offsets that stand further on too, with the same contents",
                );
                continue;
            }
            let message = match by_epoch {
                true => "other contents of a higher leader epoch stand at these offsets further on",
                false => "other contents stand at these offsets further on",
            };
            self.tell_overruled(&part.piece, Outcome::Overruled, message);
        }
        Ok(())
    }

    /// Neighbours are told together.
    fn tell_overruled(&mut self, piece: &Piece, outcome: Outcome, message: &str) {
        let mut incident = incident_of(piece, CODE, outcome);
        incident.message = message.to_owned();
        if let Some(last) = self.incidents.last_mut().filter(|last| goes_on(last, &incident)) {
            last.length += incident.length;
            last.last = incident.last;
            return;
        }
        self.incidents.push(incident);
    }
}

/// Whether a stretch goes on where another ended, with the same to say of it.
fn goes_on(before: &Incident, next: &Incident) -> bool {
    before.source == next.source
        && before.position + before.length == next.position
        && before.outcome == next.outcome
        && before.message == next.message
        && before.last < next.first
}

/// Whether the head of a batch was put right next to its base offset, so that this may be damaged too.
fn is_hurt_in_front(part: &Part) -> bool {
    part.piece.edit.patch.iter().any(|(at, _)| (8..PREFIX_LENGTH as u32).contains(at))
}

/// Keeps of a single batch what lies between two offsets.
fn cut(piece: &mut Piece, from: i64, to: i64, records: u64) {
    let mut thin = piece.edit.thin.take().unwrap_or_else(Thin::nothing);
    let (start, end) = ((*thin.within.start()).max(from), (*thin.within.end()).min(to));
    thin.within = start..=end;
    piece.edit.thin = Some(thin);
    piece.first = piece.first.max(start);
    piece.last = piece.last.min(end);
    piece.records = records;
}

pub(super) fn incident_of(piece: &Piece, code: &'static str, outcome: Outcome) -> Incident {
    Incident {
        first: Some(piece.first),
        last: Some(piece.last),
        epoch: (piece.epoch >= 0).then_some(piece.epoch),
        is_batches: true,
        patch: piece.edit.patch.clone(),
        ..Incident::of(piece.source, piece.from, piece.len(), code, outcome)
    }
}

fn join(entries: Vec<Entry>) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        if let (Some(Entry::Part(last)), Entry::Part(next)) = (out.last_mut(), &entry)
            && last.incident.is_none()
            && next.incident.is_none()
            && last.piece.join(&next.piece)
        {
            continue;
        }
        out.push(entry);
    }
    out
}
