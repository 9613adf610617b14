//! For the codes on records and on what a broker makes of them: the smallest log of which `verify` says it, and one that
//! just is not it.

use crate::build::{Bat, Commit, Ending, Rec, T0, commit, offset_key};
use crate::cases::{Case, case};
use crate::frames::{resealed, verified};
use crate::group_records::v;
use crate::setup::Setup;

pub fn all() -> Vec<Case> {
    [records(), lost(), broker()].into_iter().flatten().collect()
}

fn one(key: Option<Vec<u8>>, value: Option<Vec<u8>>) -> Setup {
    verified(vec![Bat::of(vec![Rec { offset: 0, timestamp: T0, key, value }])])
}

fn of_value(value: Vec<u8>) -> Setup {
    one(Some(offset_key("g", "orders", 0)), Some(value))
}

fn value() -> Vec<u8> {
    Commit::at(1).value(3)
}

/// The value, said to be of another version.
fn version(version: u8) -> Setup {
    let mut value = Commit::at(1).value(4);
    value[1] = version;
    of_value(value)
}

/// A key of this type.
fn of_type(number: i16) -> Setup {
    one(Some(v(number).text("g").0), Some(v(0).i32(5).end().0))
}

fn records() -> Vec<Case> {
    let plain = || Bat::of(vec![commit(0, "g", "orders", 0, 1)]);
    // A zigzag number of one byte.
    let longer = |by: u8| resealed(plain(), |bytes| bytes[61] += 2 * by);
    let keyed = |key: Option<Vec<u8>>| one(key, Some(value()));
    let named = |name: &[u8]| keyed(Some(v(1).i16(name.len() as i16).raw(name).text("orders").i32(0).0));
    let behind = |more: &[u8]| of_value([&value(), more].concat());
    vec![
        case("bad-record", "a record that is longer than its batch, against as long as it is", longer(1), longer(0)),
        case("null-key", "no key, against one", keyed(None), keyed(Some(offset_key("g", "orders", 0)))),
        case("bad-key", "a type and no more, against a whole key", keyed(Some(vec![0, 1])), named(b"g")),
        case("bad-key", "no bytes, against none at all", keyed(Some(vec![])), keyed(None)),
        case("bad-value", "a version and no more, against a whole value", of_value(vec![0, 3]), of_value(value())),
        case(
            "bad-value",
            "no bytes, against a tombstone",
            of_value(vec![]),
            one(Some(offset_key("g", "orders", 0)), None),
        ),
        case("unknown-version", "9, against 4", version(9), version(4)),
        case("unknown-type", "99, against 3", of_type(99), of_type(3)),
        case(
            "not-utf8",
            "a byte of Latin-1, against the same letter in UTF-8",
            named(b"\xe9"),
            named("\u{e9}".as_bytes()),
        ),
        case("trailing-bytes", "a byte behind the value, against none", behind(&[0]), behind(&[])),
    ]
}

/// Two batches, a byte of whose first or second is changed in its last record.
fn hurt(batches: [Bat; 2], which: usize) -> Setup {
    let lengths = batches.clone().map(|batch| batch.bytes().len());
    let at = lengths[..=which].iter().sum::<usize>() - 2;
    verified(batches.to_vec()).changed(|bytes| bytes[at] ^= 1)
}

fn lost() -> Vec<Case> {
    let commits = || [0, 1].map(|at| Bat::of(vec![commit(at, "g", "orders", 0, at)]));
    let transaction = || {
        let data = Bat::transactional(7, 0, vec![commit(0, "g", "orders", 0, 1)]);
        [data, Bat::marker(Ending::Commit, 1, T0, 7, 0)]
    };
    vec![
        case(
            "latest-record-lost",
            "the later of two commits, against the earlier",
            hurt(commits(), 1),
            hurt(commits(), 0),
        ),
        case(
            "marker-lost",
            "the marker of a transaction, against its commit",
            hurt(transaction(), 1),
            hurt(transaction(), 0),
        ),
    ]
}

fn broker() -> Vec<Case> {
    let asked = |setup: Setup, release: &str| setup.args(&["--broker", release]);
    let keyless = |records: i64| {
        let one = |offset| Rec { offset, timestamp: T0, key: None, value: Some(value()) };
        verified(vec![Bat::of((0..records).map(one).collect())])
    };
    vec![
        case(
            "unloadable",
            "a record without a key, against an unknown type",
            asked(keyless(1), "4.4"),
            asked(of_type(99), "4.4"),
        ),
        case("broker-refuses", "type 3 for 3.3, against for 3.5", asked(of_type(3), "3.3"), asked(of_type(3), "3.5")),
        case(
            "broker-skips",
            "type 99, against type 3, which 4.4 reads",
            asked(of_type(99), "4.4"),
            asked(of_type(3), "4.4"),
        ),
        case("more", "1001 records without keys, against 1000", keyless(1001), keyless(1000)).severity("error"),
    ]
}
