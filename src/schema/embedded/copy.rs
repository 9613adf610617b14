//! Payloads copied field by field, with other names put in place: whatever is no name stays byte for byte, also what
//! stands behind the last known field.
//!
//! Must not know: which names are wanted. A payload that cannot be read is not touched; whoever asks is told.

use super::streams::NEWEST;
use super::user_data::{Known, UserData};
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::schema::names::Kind;

/// Says what stands in place of a name: nothing for a name that stays.
pub type Rename<'r> = dyn FnMut(Kind, &[u8]) -> Option<Vec<u8>> + 'r;

/// What became of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    /// It holds none of the names.
    Same,
    /// The new bytes.
    New(Vec<u8>),
    /// Of a kind that is not known here, or not what its kind should be.
    Opaque,
}

/// What a copy does with bytes that nobody can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// They stay.
    Stay,
    /// They become zeros, as many.
    Zeros,
}

/// Copies the subscription of a classic member.
pub fn subscription(
    protocol_type: &[u8],
    protocol: Option<&[u8]>,
    bytes: &[u8],
    unreadable: Unreadable,
    rename: &mut Rename<'_>,
) -> Copied {
    copied(bytes, unreadable, rename, |copy| match protocol_type {
        b"consumer" => copy.consumer_subscription(protocol),
        b"connect" => copy.connect_worker(),
        _ => Err(unknown()),
    })
}

/// Copies the assignment of a classic member.
pub fn assignment(
    protocol_type: &[u8],
    protocol: Option<&[u8]>,
    bytes: &[u8],
    unreadable: Unreadable,
    rename: &mut Rename<'_>,
) -> Copied {
    copied(bytes, unreadable, rename, |copy| match protocol_type {
        b"consumer" => copy.consumer_assignment(protocol),
        b"connect" => copy.connect_assignment(),
        _ => Err(unknown()),
    })
}

fn copied(
    bytes: &[u8],
    unreadable: Unreadable,
    rename: &mut Rename<'_>,
    read: impl FnOnce(&mut Copy<'_, '_, '_>) -> Result<(), Fault>,
) -> Copied {
    if bytes.is_empty() {
        return Copied::Same;
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut copy = Copy { cursor: Cursor::new(bytes), out: &mut out, unreadable, rename };
    if read(&mut copy).is_err() {
        return Copied::Opaque;
    }
    copy.rest();
    if out == bytes { Copied::Same } else { Copied::New(out) }
}

struct Copy<'c, 'o, 'r> {
    cursor: Cursor<'c>,
    out: &'o mut Vec<u8>,
    unreadable: Unreadable,
    rename: &'o mut Rename<'r>,
}

type Step = Result<(), Fault>;

/// Of bytes whose kind is not known here: nobody sees it.
fn unknown() -> Fault {
    FaultKind::UnexpectedNull.at(0)
}

impl<'c> Copy<'c, '_, '_> {
    /// So many bytes that are no name.
    fn plain(&mut self, n: usize) -> Step {
        self.out.extend_from_slice(self.cursor.take(n)?);
        Ok(())
    }

    fn i32(&mut self) -> Result<i32, Fault> {
        let n = self.cursor.i32()?;
        self.out.extend_from_slice(&n.to_be_bytes());
        Ok(n)
    }

    fn i16(&mut self) -> Result<i16, Fault> {
        let n = self.cursor.i16()?;
        self.out.extend_from_slice(&n.to_be_bytes());
        Ok(n)
    }

    fn put_unreadable(&mut self, bytes: &[u8]) {
        match self.unreadable {
            Unreadable::Stay => self.out.extend_from_slice(bytes),
            Unreadable::Zeros => self.out.resize(self.out.len() + bytes.len(), 0),
        }
    }

    /// What stands behind the last known field.
    fn rest(&mut self) {
        let rest = self.cursor.rest();
        self.put_unreadable(rest);
    }

    fn is_at_end(&self) -> bool {
        self.cursor.remaining() == 0
    }

    fn renamed(&mut self, kind: Kind, text: &'c [u8]) -> Vec<u8> {
        (self.rename)(kind, text).unwrap_or_else(|| text.to_vec())
    }

    /// A text behind 16 bits, or null.
    fn text(&mut self, kind: Kind) -> Step {
        let at = self.cursor.at() as u64;
        let n = self.cursor.i16()?;
        let Ok(len) = usize::try_from(n) else {
            self.out.extend_from_slice(&n.to_be_bytes());
            return Ok(());
        };
        let text = self.cursor.take(len)?;
        let new = self.renamed(kind, text);
        let len = i16::try_from(new.len()).map_err(|_| FaultKind::BadLength(new.len() as i64).at(at))?;
        self.out.extend_from_slice(&len.to_be_bytes());
        self.out.extend_from_slice(&new);
        Ok(())
    }

    /// A text behind 16 bits without a sign.
    fn utf(&mut self, kind: Kind) -> Step {
        let at = self.cursor.at() as u64;
        let len = self.cursor.u16()?;
        let text = self.cursor.take(usize::from(len))?;
        let new = self.renamed(kind, text);
        let len = u16::try_from(new.len()).map_err(|_| FaultKind::BadLength(new.len() as i64).at(at))?;
        self.out.extend_from_slice(&len.to_be_bytes());
        self.out.extend_from_slice(&new);
        Ok(())
    }

    /// An array, or null. A count that the bytes do not bear out ends where they do.
    fn array(&mut self, mut each: impl FnMut(&mut Self) -> Step) -> Step {
        let n = self.i32()?;
        (0..n).try_for_each(|_| each(self))
    }

    fn ints(&mut self) -> Step {
        self.array(|copy| copy.plain(4))
    }

    fn topic_partitions(&mut self) -> Step {
        self.text(Kind::Topic)?;
        self.ints()
    }

    /// Bytes behind 32 bits, or null, that `inside` copies; as they are where it cannot.
    fn nested(&mut self, inside: impl FnOnce(&mut Copy<'c, '_, '_>) -> Step) -> Step {
        let at = self.cursor.at() as u64;
        let n = self.cursor.i32()?;
        let Ok(len) = usize::try_from(n) else {
            self.out.extend_from_slice(&n.to_be_bytes());
            return Ok(());
        };
        let bytes = self.cursor.take(len)?;
        let mut new = Vec::with_capacity(len);
        let mut copy =
            Copy { cursor: Cursor::new(bytes), out: &mut new, unreadable: self.unreadable, rename: &mut *self.rename };
        match inside(&mut copy) {
            Ok(()) => copy.rest(),
            Err(_) => {
                let Copy { cursor: _, out, unreadable, .. } = copy;
                out.clear();
                match unreadable {
                    Unreadable::Stay => out.extend_from_slice(bytes),
                    Unreadable::Zeros => out.resize(bytes.len(), 0),
                }
            }
        }
        let len = i32::try_from(new.len()).map_err(|_| FaultKind::BadLength(new.len() as i64).at(at))?;
        self.out.extend_from_slice(&len.to_be_bytes());
        self.out.extend_from_slice(&new);
        Ok(())
    }

    fn consumer_subscription(&mut self, protocol: Option<&[u8]>) -> Step {
        let version = self.i16()?;
        self.array(|copy| copy.text(Kind::Topic))?;
        if self.is_at_end() {
            return Ok(());
        }
        self.nested(|copy| copy.user_data(protocol, Whose::Subscription))?;
        if version < 1 || self.is_at_end() {
            return Ok(());
        }
        self.array(Self::topic_partitions)?;
        if version < 2 || self.is_at_end() {
            return Ok(());
        }
        self.plain(4)?;
        if version < 3 || self.is_at_end() {
            return Ok(());
        }
        self.text(Kind::Rack)
    }

    fn consumer_assignment(&mut self, protocol: Option<&[u8]>) -> Step {
        self.i16()?;
        self.array(Self::topic_partitions)?;
        if self.is_at_end() {
            return Ok(());
        }
        self.nested(|copy| copy.user_data(protocol, Whose::Assignment))
    }

    /// By the readers of [`UserData`], which know whose it is.
    fn user_data(&mut self, protocol: Option<&[u8]>, whose: Whose) -> Step {
        let bytes = self.cursor.rest();
        let mut data = UserData { raw: Some(bytes), known: None };
        match whose {
            Whose::Subscription => data.resolve_subscription(protocol),
            Whose::Assignment => data.resolve_assignment(protocol),
        }
        match data.known {
            Some(Known::Sticky(_)) => {
                self.array(Self::topic_partitions)?;
                let n = self.cursor.remaining();
                self.plain(n)
            }
            Some(Known::Generation(_)) => self.plain(4),
            Some(Known::Rack(_)) => {
                let rack = self.cursor.take(bytes.len())?;
                let new = self.renamed(Kind::Rack, rack);
                self.out.extend_from_slice(&new);
                Ok(())
            }
            Some(Known::StreamsAssignment(_)) => self.streams_assignment(),
            // It names no topic: process, tasks, a host, tags.
            Some(Known::StreamsSubscription(_)) if self.unreadable == Unreadable::Stay => self.plain(bytes.len()),
            _ => Err(unknown()),
        }
    }

    fn streams_assignment(&mut self) -> Step {
        let version = self.i32()?;
        if version >= 3 {
            self.plain(4)?;
        }
        if version > NEWEST {
            return Ok(());
        }
        let task = |copy: &mut Self| {
            copy.plain(8)?;
            if version < 10 {
                return Ok(());
            }
            let units = copy.i32()?;
            let size = usize::try_from(units).ok().and_then(|n| n.checked_mul(2));
            copy.plain(size.unwrap_or(usize::MAX))
        };
        let partition = |copy: &mut Self| {
            copy.utf(Kind::Topic)?;
            copy.plain(4)
        };
        self.array(task)?;
        self.array(|copy| {
            task(copy)?;
            copy.array(partition)
        })?;
        let host = |copy: &mut Self, partition: &dyn Fn(&mut Self) -> Step| {
            copy.utf(Kind::Host)?;
            copy.plain(4)?;
            copy.array(partition)
        };
        match version {
            ..2 => {}
            2..5 => self.array(|copy| host(copy, &partition))?,
            _ => {
                self.array(|copy| {
                    copy.plain(4)?;
                    copy.utf(Kind::Topic)
                })?;
                self.array(|copy| host(copy, &|copy| copy.plain(8)))?;
                if version >= 6 {
                    self.array(|copy| host(copy, &|copy| copy.plain(8)))?;
                }
            }
        }
        if version >= 4 {
            self.plain(4)?;
        }
        if version >= 7 {
            self.plain(8)?;
        }
        Ok(())
    }

    fn connect_worker(&mut self) -> Step {
        let version = self.i16()?;
        self.text(Kind::Host)?;
        self.plain(8)?;
        if version < 1 || self.is_at_end() {
            return Ok(());
        }
        self.nested(|copy| copy.connect_assignment())
    }

    fn connect_assignment(&mut self) -> Step {
        let version = self.i16()?;
        self.plain(2)?;
        self.text(Kind::Member)?;
        self.text(Kind::Host)?;
        self.plain(8)?;
        let tasks = |copy: &mut Self| {
            copy.text(Kind::Connector)?;
            copy.ints()
        };
        if self.is_at_end() {
            return Ok(());
        }
        self.array(tasks)?;
        if version < 1 || self.is_at_end() {
            return Ok(());
        }
        self.array(tasks)?;
        if self.is_at_end() { Ok(()) } else { self.plain(4) }
    }
}

/// Whose user data it is.
#[derive(Debug, Clone, Copy)]
enum Whose {
    Subscription,
    Assignment,
}
