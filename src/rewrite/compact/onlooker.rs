//! Who looks on while a log is learned: counts what is read, without reading it again.
//!
//! All that a [`Learner`](super::learn::Learner) meets is shown once, in the order of the log; figures of a key may stand
//! beside what is learned of it ([`Slot`]). Must not know: what is counted.

use super::keys::{Keys, Window};
use super::slot::{Slot, Winner};
use crate::log::batch::Header;
use crate::log::plain::PlainRecord;
use crate::log::{Batch, Hole, Inflater, Record, Segment};

/// What an onlooker notes of a record.
pub type NoteOf<'s, O> = <<O as Onlooker<'s>>::Slot as Slot>::Note;

/// Looks on.
pub trait Onlooker<'s> {
    /// What stands beside keys.
    type Slot: Slot;
    /// Whether anything is ever noted.
    const NOTES: bool;

    /// A segment begins.
    fn segment(&mut self, segment: &Segment);
    /// Bytes that are no batch.
    fn hole(&mut self, hole: &Hole);
    /// A batch of which nothing is believed.
    fn left_out(&mut self, header: &Header);
    /// A batch whose records are not taken up now, or not at all.
    fn apart(
        &mut self,
        batch: &Batch<'s>,
        keys: &mut Keys<Self::Slot>,
        window: &mut Window<'s, NoteOf<'s, Self>>,
        inflater: &mut Inflater,
    );
    /// A batch begins whose records are taken up; whether they are to be shown.
    fn begin(&mut self, header: &Header) -> bool;
    /// A record of an uncompressed one; what is to be noted of it.
    fn plain(
        &mut self,
        record: &PlainRecord<'s>,
        keys: &mut Keys<Self::Slot>,
        window: &mut Window<'s, NoteOf<'s, Self>>,
    ) -> NoteOf<'s, Self>;
    /// It has to be gone through again, the slow way; its records have so many bytes, inflated.
    fn again(&mut self, header: &Header, inflated: u64);
    /// A record that was shown already.
    fn shown(&mut self, record: &Record<'_>);
    /// A record; what is to be noted of it.
    fn record(
        &mut self,
        record: &Record<'_>,
        keys: &mut Keys<Self::Slot>,
        window: &mut Window<'s, NoteOf<'s, Self>>,
    ) -> NoteOf<'s, Self>;
    /// The batch ends.
    fn end(&mut self, header: &Header);
    /// The log ends: takes what was noted out of the keys, or keeps them, and gives back what a cleaner asks for.
    fn finish(&mut self, keys: Keys<Self::Slot>) -> Keys;
}

/// Nobody looks on. All of it comes to nothing.
#[derive(Debug, Default)]
pub struct Nobody;

impl<'s> Onlooker<'s> for Nobody {
    type Slot = Winner;
    const NOTES: bool = false;

    fn segment(&mut self, _: &Segment) {}

    fn hole(&mut self, _: &Hole) {}

    fn left_out(&mut self, _: &Header) {}

    fn apart(&mut self, _: &Batch<'s>, _: &mut Keys, _: &mut Window<'s>, _: &mut Inflater) {}

    fn begin(&mut self, _: &Header) -> bool {
        false
    }

    fn plain(&mut self, _: &PlainRecord<'s>, _: &mut Keys, _: &mut Window<'s>) {}

    fn again(&mut self, _: &Header, _: u64) {}

    fn shown(&mut self, _: &Record<'_>) {}

    fn record(&mut self, _: &Record<'_>, _: &mut Keys, _: &mut Window<'s>) {}

    fn end(&mut self, _: &Header) {}

    fn finish(&mut self, keys: Keys) -> Keys {
        keys
    }
}
