//! For the codes on the files beside the segments: the smallest folder of which `verify` says it, and one that just is not
//! it.

use crate::build::{Bat, Ending, T0, commit};
use crate::cases::{Case, case};
use crate::frames::verified;
use crate::setup::Setup;

pub fn all() -> Vec<Case> {
    [indexes(), transactions(), snapshots(), epochs(), metadata(), checkpoints(), leftovers()]
        .into_iter()
        .flatten()
        .collect()
}

const INDEX: &str = "00000000000000000000.index";
const TIMES: &str = "00000000000000000000.timeindex";
const TXNS: &str = "00000000000000000000.txnindex";
const SWAP: &str = "00000000000000000000.log.swap";
const EPOCHS: &str = "leader-epoch-checkpoint";
const METADATA: &str = "partition.metadata";

/// Offsets 0 to 2, each in a batch of its own and a millisecond after the one before.
fn log() -> Setup {
    from(0)
}

fn from(base: i64) -> Setup {
    verified((base..base + 3).map(|at| Bat::of(vec![commit(at, "g", "orders", 0, at)])).collect())
}

/// Entries of an offset index: offset, and how many batches lie before it.
fn index(entries: &[(u32, u32)]) -> Vec<u8> {
    let length = Bat::of(vec![commit(0, "g", "orders", 0, 0)]).bytes().len() as u32;
    entries
        .iter()
        .flat_map(|(offset, batches)| [offset.to_be_bytes(), (batches * length).to_be_bytes()])
        .flatten()
        .collect()
}

/// Entries of a time index: ms after the first record, and offset.
fn times(entries: &[(i64, u32)]) -> Vec<u8> {
    entries.iter().flat_map(|(time, offset)| [&(T0 + time).to_be_bytes()[..], &offset.to_be_bytes()].concat()).collect()
}

fn indexes() -> Vec<Case> {
    let of = |entries: &[(u32, u32)]| log().beside(INDEX, &index(entries));
    let cut = |length: usize| log().beside(INDEX, &index(&[(1, 1)])[..length]);
    let timed = |entries: &[(i64, u32)]| log().beside(TIMES, &times(entries));
    let times_cut = |length: usize| log().beside(TIMES, &times(&[(1, 1)])[..length]);
    let inside = log().beside(INDEX, &[0, 0, 0, 1, 0, 0, 0, 1]);
    let both = || of(&[]).beside(TIMES, &[]);
    let untrimmed = |zeros: usize| log().beside(INDEX, &[index(&[(1, 1)]), vec![0; zeros]].concat());
    vec![
        case("index-mismatch", "into a batch, against to its first byte", inside, of(&[(1, 1)])),
        case("index-mismatch", "offset 3 of 0 to 2, against 2", of(&[(3, 2)]), of(&[(2, 2)])),
        case("index-order", "2 and 1, against 1 and 2", of(&[(2, 2), (1, 1)]), of(&[(1, 1), (2, 2)])),
        case("index-beyond-end", "to the end of the file, against to the last batch", of(&[(2, 3)]), of(&[(2, 2)])),
        case("index-cut", "7 bytes, against 8", cut(7), cut(8)),
        case("index-missing", "no index, against empty ones", log(), both()),
        case("index-untrimmed", "8 zeros behind the last entry, against none", untrimmed(8), untrimmed(0)),
        case("time-index-mismatch", "a millisecond later, against right", timed(&[(2, 1)]), timed(&[(1, 1)])),
        case("time-index-order", "2 and 1, against 1 and 2", timed(&[(2, 2), (1, 1)]), timed(&[(1, 1), (2, 2)])),
        case("time-index-cut", "11 bytes, against 12", times_cut(11), times_cut(12)),
    ]
}

/// Producer 7's transactions at offsets 0 and 2, which abort at 1 and 3.
fn aborted() -> Setup {
    let data = |at| Bat::transactional(7, 0, vec![commit(at, "g", "orders", 0, at)]);
    let abort = |at| Bat::marker(Ending::Abort, at, T0, 7, 0);
    verified(vec![data(0), abort(1), data(2), abort(3)])
}

/// An entry of a transaction index: producer, first and last offset.
fn txn((producer, first, last): (i64, i64, i64)) -> Vec<u8> {
    [&[0, 0][..], &[producer, first, last, last + 1].map(i64::to_be_bytes).concat()].concat()
}

fn transactions() -> Vec<Case> {
    let of = |entries: &[(i64, i64, i64)]| {
        aborted().beside(TXNS, &entries.iter().copied().flat_map(txn).collect::<Vec<_>>())
    };
    let (one, two) = ((7, 0, 1), (7, 2, 3));
    let cut = |by: usize| {
        let bytes = [txn(one), txn(two)].concat();
        aborted().beside(TXNS, &bytes[..bytes.len() - by])
    };
    let version = |number: u8| {
        let mut bytes = [txn(one), txn(two)].concat();
        bytes[1] = number;
        aborted().beside(TXNS, &bytes)
    };
    vec![
        case("txn-index-mismatch", "producer 8, against 7", of(&[(8, 0, 1), two]), of(&[one, two])),
        case("txn-index-incomplete", "one of two, against both", of(&[one]), of(&[one, two])),
        case("txn-index-beyond-end", "one that ends at 4, against at 3", of(&[one, (7, 2, 4)]), of(&[one, two])),
        case("txn-index-order", "the later one first, against last", of(&[two, one]), of(&[one, two])),
        case("txn-index-cut", "a byte less, against none", cut(1), cut(0)),
        case("txn-index-version", "1, against 0", version(1), version(0)),
    ]
}

/// A snapshot of producer 7 in epoch 0, which committed at 0, and where its transaction is open from.
fn snapshot(open_from: i64) -> Vec<u8> {
    let mut covered = 1i32.to_be_bytes().to_vec();
    covered.extend(7i64.to_be_bytes());
    covered.extend(0i16.to_be_bytes());
    covered.extend(0i32.to_be_bytes());
    covered.extend(0i64.to_be_bytes());
    covered.extend(0i32.to_be_bytes());
    covered.extend(T0.to_be_bytes());
    covered.extend(0i32.to_be_bytes());
    covered.extend(open_from.to_be_bytes());
    [&1i16.to_be_bytes()[..], &crc32c::crc32c(&covered).to_be_bytes(), &covered].concat()
}

fn snapshots() -> Vec<Case> {
    let open = || verified(vec![Bat::transactional(7, 0, vec![commit(0, "g", "orders", 0, 1)])]);
    let named = |offset: i64, bytes: &[u8]| open().beside(&format!("{offset:020}.snapshot"), bytes);
    let with = |at: usize, byte: u8| {
        let mut bytes = snapshot(0);
        bytes[at] = byte;
        named(1, &bytes)
    };
    vec![
        case("snapshot-crc", "another last byte, against the right one", with(55, 1), with(55, 0)),
        case("snapshot-malformed", "5 bytes, against all", named(1, &snapshot(0)[..5]), named(1, &snapshot(0))),
        case("snapshot-version", "2, against 1", with(1, 2), with(1, 1)),
        case(
            "snapshot-mismatch",
            "no transaction, against one that is open",
            named(1, &snapshot(-1)),
            named(1, &snapshot(0)),
        ),
        case(
            "snapshot-beyond-end",
            "at 2, against 1, where the log ends",
            named(2, &snapshot(0)),
            named(1, &snapshot(0)),
        ),
    ]
}

fn epochs() -> Vec<Case> {
    let of = |lines: &str| log().beside(EPOCHS, lines.as_bytes());
    let sound = || of("0\n1\n0 0\n");
    vec![
        case("leader-epochs-missing", "no file, against one", log(), sound()),
        case("leader-epochs-malformed", "two lines announced, against the one there is", of("0\n2\n0 0\n"), sound()),
        case("leader-epochs-order", "0 behind 1, against before", of("0\n2\n1 0\n0 1\n"), of("0\n2\n0 0\n1 3\n")),
        case("leader-epochs-mismatch", "epoch 1 for batches of 0, against 0", of("0\n1\n1 0\n"), sound()),
        case(
            "leader-epochs-beyond-end",
            "one from 4 on, against from 3, the end",
            of("0\n2\n0 0\n1 4\n"),
            of("0\n2\n0 0\n1 3\n"),
        ),
    ]
}

fn metadata() -> Vec<Case> {
    let of = |text: &str| log().beside(METADATA, text.as_bytes());
    let sound = || of("version: 0\ntopic_id: D6aWgDg5SHWLKJTbEvQe_w");
    let properties = |version| log().file("meta.properties", &format!("version={version}\ncluster.id=x\nnode.id=1\n"));
    vec![
        case("partition-metadata-missing", "no file, against one", log(), sound()),
        case("partition-metadata-lost", "in a log dir of KRaft, against of ZooKeeper", properties(1), properties(0)),
        case(
            "partition-metadata-malformed",
            "half an id, against a whole one",
            of("version: 0\ntopic_id: D6aWgDg5"),
            sound(),
        ),
    ]
}

fn checkpoints() -> Vec<Case> {
    let of =
        |count: usize, lines: &str| log().file("recovery-point-offset-checkpoint", &format!("0\n{count}\n{lines}"));
    let at = |offset: i64| of(1, &format!("__consumer_offsets 12 {offset}\n"));
    let twice = |other: i32| of(2, &format!("__consumer_offsets 12 3\n__consumer_offsets {other} 2\n"));
    let cleaned =
        |offset: i64| from(5).file("cleaner-offset-checkpoint", &format!("0\n1\n__consumer_offsets 12 {offset}\n"));
    vec![
        case(
            "checkpoint-malformed",
            "two lines announced, against the one there is",
            of(2, "__consumer_offsets 12 3\n"),
            at(3),
        ),
        case("checkpoint-repeated", "partition 12 twice, against 12 and 13", twice(12), twice(13)),
        case("checkpoint-beyond-end", "at 4, against 3, the end", at(4), at(3)),
        case("checkpoint-below-start", "cleaned up to 4 of a log from 5 on, against 5", cleaned(4), cleaned(5)),
    ]
}

fn leftovers() -> Vec<Case> {
    let with = |name: &str| log().beside(name, b"");
    let folder = || {
        let setup = log();
        std::fs::create_dir(setup.folder().join(INDEX)).unwrap();
        setup
    };
    let checkpoint = || {
        let setup = log();
        let path = setup.path().join("recovery-point-offset-checkpoint");
        std::os::unix::fs::symlink("/dev/null", path).unwrap();
        setup
    };
    let swapped = || {
        let setup = log();
        let segment = std::fs::read(setup.folder().join("00000000000000000000.log")).unwrap();
        setup.beside(SWAP, &segment)
    };
    vec![
        case(
            "leftover-deleted",
            "'.log.deleted', against '.log.delete'",
            with("00000000000000000000.log.deleted"),
            with("00000000000000000000.log.delete"),
        ),
        case(
            "leftover-cleaning",
            "'.log.cleaned', against '.log.clean'",
            with("00000000000000000000.log.cleaned"),
            with("00000000000000000000.log.clean"),
        ),
        case(
            "segment-missing",
            "an index of a segment 100, against an empty one",
            log().beside("00000000000000000100.index", &[0, 0, 0, 0, 0, 0, 0, 0]),
            with("00000000000000000100.index"),
        ),
        case("orphan-index", "of a segment 100, against of 0", with("00000000000000000100.index"), with(INDEX)),
        case("unknown-file", "notes, against a transaction index", with("notes.txt"), with(TXNS)),
        case("not-a-file", "a folder in place of an index, against an empty one", folder(), with(INDEX)),
        case("harmful-swap", "nothing in place of the segment, against a copy", with(SWAP), swapped()),
        case("side-file-unreadable", "a device in place of a checkpoint, against none", checkpoint(), log()),
    ]
}
