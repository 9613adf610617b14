//! For every code the smallest log that raises it, and one that just does not.

use crate::build::{Bat, Commit, Ending, Rec, T0, commit, forget, offset_key};
use crate::group_records::*;
use crate::setup::{DAY, HOUR, Setup, plain};

/// A case.
#[derive(Clone)]
pub struct Case {
    pub code: &'static str,
    pub name: &'static str,
    pub raised: Setup,
    pub missed: Setup,
    /// If it is not the code's own.
    pub severity: Option<&'static str>,
    pub command: Option<&'static str>,
}

impl Case {
    pub fn severity(self, severity: &'static str) -> Case {
        Case { severity: Some(severity), ..self }
    }

    fn command(self, command: &'static str) -> Case {
        Case { command: Some(command), ..self }
    }
}

pub fn case(code: &'static str, name: &'static str, raised: Setup, missed: Setup) -> Case {
    Case { code, name, raised, missed, severity: None, command: None }
}

/// Those of `audit`.
pub fn all() -> Vec<Case> {
    [members(), groups(), offsets(), moved(), transactions(), log(), privacy()].into_iter().flatten().collect()
}

/// All at the first moment.
fn at_once(records: Vec<Kv>) -> Setup {
    Setup::records(records.into_iter().map(|kv| (T0, kv)).collect())
}

fn value(commit: Commit<'_>, version: i16) -> W {
    W(commit.value(version))
}

/// A commit of a group, at a time.
fn commits(g: &str, topic: &str, partition: i32, what: Commit<'_>, version: i16) -> Kv {
    (Some(offset_key(g, topic, partition)), value(what, version).done())
}

fn plain_commit(g: &str, topic: &str, partition: i32, offset: i64) -> Kv {
    commits(g, topic, partition, Commit::at(offset), 3)
}

/// A classic group of protocol type consumer in a generation, with these members.
fn generation(g: &str, generation: i32, members: &[ClassicMember<'_>]) -> Kv {
    let mut kv = kv(2, &[g], classic("consumer", Some("range"), members));
    // Behind the version and the protocol type.
    if let Some(value) = &mut kv.1 {
        value[12..16].copy_from_slice(&generation.to_be_bytes());
    }
    kv
}

/// A member of the new protocol, as brokers write it: where nothing is said, they take it for one of the classic protocol.
fn c5_new(g: &str, m: &str) -> Kv {
    let value = v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null();
    kv(5, &[g, m], value.uv(1).uv(0).uv(1).null())
}

/// A member of the classic protocol in a consumer group.
fn c5_classic(g: &str, m: &str) -> Kv {
    let value = v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null();
    let inside = W::default().uv(1).i32(45_000).count(1).ctext("range").uv(1).end().end();
    kv(5, &[g, m], value.uv(1).uv(0).uv(inside.0.len() as u32).raw(&inside.0))
}

fn c5_static(g: &str, m: &str, instance: &str) -> Kv {
    let value = v(0).ctext(instance).null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null();
    kv(5, &[g, m], value.end())
}

fn without(records: Vec<Kv>, number: i16) -> Vec<Kv> {
    let is = |kv: &Kv| kv.0.as_ref().unwrap()[..2] == number.to_be_bytes();
    records.into_iter().filter(|kv| !is(kv)).collect()
}

fn members() -> Vec<Case> {
    let away = |epoch| {
        at_once(vec![
            c5_static("g", "m1", "i1"),
            c3("g"),
            c7("g", "m1", &[(T, &[0])]),
            c6("g"),
            c8("g", "m1", epoch, &[(T, &[0])], &[]),
        ])
    };
    let doubles =
        |second| at_once(vec![k2("g", &[("m1", Some("i1"), &subscription()), ("m2", Some(second), &subscription())])]);
    let second = |partitions: &[i32]| {
        let more = vec![c5("g", "m2"), c7("g", "m2", &[(T, partitions)]), c8("g", "m2", 5, &[(T, partitions)], &[])];
        at_once([consumer_up("g"), more].concat())
    };
    let silent = at_once(vec![k2("g", &[("m1", None, &subscription())]), plain_commit("g", "orders", 0, 1)]);
    let never = at_once(vec![k2("g", &[("m1", None, &subscription())])]);
    vec![
        case("static-member-away", "epoch -2 for an hour, against epoch 5", away(-2), away(5)),
        case("static-member-away", "epoch -2 for half a minute is an info", away(-2).now(T0 + 30_000), away(-1))
            .severity("info"),
        case("duplicate-instance-id", "two members i1, against i1 and i2", doubles("i1"), doubles("i2")),
        case(
            "half-removed-member",
            "type 5 without 8, against with",
            at_once(without(consumer_up("g"), 8)),
            at_once(consumer_up("g")),
        ),
        case(
            "half-removed-member",
            "a share group's type 10 without 14, against with",
            at_once(without(share_up("g"), 14)),
            at_once(share_up("g")),
        ),
        case(
            "half-removed-member",
            "a streams group's type 19 without 22, against with",
            at_once(without(streams_up("g"), 22)),
            at_once(streams_up("g")),
        ),
        case(
            "member-without-target",
            "type 5 and 8 without 7, against a target that is due",
            at_once(without(consumer_up("g"), 7)),
            at_once(without(without(consumer_up("g"), 7), 6)),
        ),
        case(
            "orphan-member-record",
            "types 7 and 8 without 5, against with",
            at_once(without(consumer_up("g"), 5)),
            at_once(consumer_up("g")),
        )
        .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete --group g"),
        case(
            "parts-without-group",
            "types 5 to 8 without 3, against with",
            at_once(without(consumer_up("g"), 3)),
            at_once(consumer_up("g")),
        ),
        case("idle-member", "a second member with nothing, against with a partition", second(&[]), second(&[1])),
        case(
            "silent-members",
            "a commit more than 30 days old, against 30 days",
            silent.now(T0 + 30 * DAY + 1),
            silent.now(T0 + 30 * DAY),
        ),
        case(
            "silent-members",
            "a commit of long ago, against none ever",
            silent.now(T0 + 90 * DAY),
            never.now(T0 + 90 * DAY),
        ),
    ]
}

fn groups() -> Vec<Case> {
    let empty = || kv(2, &["g"], classic("consumer", None, &[]));
    let idle = at_once(vec![empty(), plain_commit("g", "orders", 0, 1)]);
    let simple = at_once(vec![plain_commit("a b", "orders", 0, 1)]);
    let family = |n: u32| at_once((0..n).map(|i| plain_commit(&uuid_name(i), "orders", 0, 1)).collect());
    let counter =
        |n: u32| at_once((0..n).map(|i| plain_commit(&format!("console-consumer-{i}"), "orders", 0, 1)).collect());
    let barren = |last: &[ClassicMember<'_>]| {
        at_once(vec![generation("g", 1, &[]), generation("g", 2, &[]), generation("g", 3, last)])
    };
    let assigning = at_once(without(consumer_up("g"), 6));
    let storm = |n: i64| {
        Setup::records(
            (0..n).map(|i| (T0 + i * 1000, generation("g", i as i32, &[("m1", None, &subscription())]))).collect(),
        )
    };
    // A group of the newer protocol with one member, that comes and goes.
    let epochs = |n: i64| {
        let epoch = |i: i64| (T0 + i * 1000, kv(3, &["g"], v(0).i32(i as i32).end()));
        Setup::records([(T0, c5("g", "m"))].into_iter().chain((1..=n).map(epoch)).collect())
    };
    let mixed = |second: Kv| {
        let more = vec![second, c7("g", "m2", &[(T, &[1])]), c8("g", "m2", 5, &[(T, &[1])], &[])];
        at_once([vec![c5_new("g", "m1")], without(consumer_up("g"), 5), more].concat())
    };
    let large = |bytes: usize| at_once(vec![with_subscription("g", "custom", &vec![7; bytes])]);
    vec![
        case("dead-group", "no members and no offsets, against with one", at_once(vec![empty()]), idle.clone())
            .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete --group g"),
        case(
            "dead-group",
            "for an hour, against ten minutes",
            at_once(vec![empty()]),
            at_once(vec![empty()]).now(T0 + 600_000),
        ),
        case(
            "long-empty-group",
            "Empty for more than 30 days, against 30 days",
            idle.now(T0 + 30 * DAY + 1),
            idle.now(T0 + 30 * DAY),
        )
        .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete --group g"),
        case(
            "long-empty-group",
            "a simple group, by --stale-after",
            simple.args(&["--stale-after", "59m"]),
            simple.args(&["--stale-after", "1h"]),
        )
        .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete --group 'a b'"),
        case("group-family", "20 UUIDs, against 19", family(20), family(19)),
        case("group-family", "20 counters, against 19", counter(20), counter(19)),
        case(
            "never-stable-group",
            "three generations without members, against one with",
            barren(&[]),
            barren(&[("m1", None, &subscription())]),
        ),
        case(
            "never-stable-group",
            "Assigning for more than ten minutes, against ten",
            assigning.now(T0 + 600_001),
            assigning.now(T0 + 600_000),
        ),
        case("rebalance-storm", "21 generations in 20 seconds, against 20", storm(21), storm(20)),
        case("rebalance-storm", "of the newer protocol, three more for each member", epochs(24), epochs(23)),
        case(
            "mixed-protocols",
            "a classic member beside a new one, against two new ones",
            mixed(c5_classic("g", "m2")),
            mixed(c5_new("g", "m2")),
        ),
        case(
            "stuck-migration",
            "mixed for more than 30 days, against 30",
            mixed(c5_classic("g", "m2")).now(T0 + 30 * DAY + 1),
            mixed(c5_classic("g", "m2")).now(T0 + 30 * DAY),
        ),
        case(
            "leftover-of-other-protocol",
            "types 2 and 3, against a tombstone between",
            at_once(vec![k2("g", &[]), c3("g")]),
            at_once(vec![k2("g", &[]), gone(2, &["g"]), c3("g")]),
        ),
        case("large-group-record", "a record of 840 kB, against 830 kB", large(840_000), large(830_000)),
    ]
}

fn uuid_name(n: u32) -> String {
    format!("app-6f1ed002-ab5c-4cf5-9d1e-{n:012x}")
}

fn offsets() -> Vec<Case> {
    let one = || at_once(vec![plain_commit("g", "orders", 0, 42)]);
    let retention = |now| one().args(&["--retention", "1h"]).now(now);
    let own = |now| {
        at_once(vec![commits("g", "orders", 0, Commit { expire_timestamp: T0 + HOUR, ..Commit::at(1) }, 1)]).now(now)
    };
    let member = || k2("g", &[("m1", None, &subscription())]);
    let topics = |topic: &str, partition| {
        at_once(vec![plain_commit("g", topic, partition, 1)])
            .file("topics.csv", "orders,,6\n")
            .args(&["--topics", "topics.csv"])
    };
    let ids = |first| {
        let of = |id, timestamp| Commit { topic_id: id, commit_timestamp: timestamp, ..Commit::at(1) };
        at_once(vec![commits("g", "orders", 0, of(first, T0), 4), commits("g", "orders", 1, of(U, T0 + 1), 4)])
    };
    let ends = |offset| {
        at_once(vec![plain_commit("g", "orders", 0, offset)])
            .file("ends.csv", "orders,0,10,100\n")
            .args(&["--log-ends", "ends.csv"])
    };
    let offset = |offset| at_once(vec![plain_commit("g", "orders", 0, offset)]);
    vec![
        case("expired-offsets", "retention after the commit, to the millisecond", retention(T0 + HOUR), retention(T0 + HOUR - 1))
            .command("f=$(mktemp) && printf '%s\\n' orders,0,42 > \"$f\" && kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --reset-offsets --group g --from-file \"$f\" --execute"),
        case("expired-offsets", "as the commit asked, without --retention", own(T0 + HOUR), own(T0 + HOUR - 1)),
        case("expiring-offsets", "the last tenth of the retention, against a millisecond before", retention(T0 + 54 * 60_000), retention(T0 + 54 * 60_000 - 1)),
        case(
            "unsubscribed-offsets",
            "payments in a group that reads orders, against orders",
            at_once(vec![member(), plain_commit("g", "payments", 0, 1)]),
            at_once(vec![member(), plain_commit("g", "orders", 0, 1)]),
        )
        .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete-offsets --group g --topic payments"),
        case(
            "unsubscribed-offsets",
            "of long ago is a warning; an empty group is another matter",
            at_once(vec![member(), plain_commit("g", "payments", 0, 1)]).now(T0 + 31 * DAY),
            at_once(vec![plain_commit("g", "payments", 0, 1)]).now(T0 + 31 * DAY),
        )
        .severity("warning"),
        case("topic-gone", "a topic that is not listed, against one that is", topics("payments", 0), topics("orders", 0))
            .command("kafka-topics.sh --bootstrap-server BROKER:9092 --create --topic payments --partitions 1 && kafka-topics.sh --bootstrap-server BROKER:9092 --delete --topic payments"),
        case("partition-gone", "partition 6 of 6, against 5", topics("orders", 6), topics("orders", 5)),
        case("topic-id-mismatch", "an older id beside a newer one, against one id", ids(T), ids(U)),
        case("offset-out-of-range", "9 below the start 10, against 10", ends(9), ends(10))
            .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --reset-offsets --group g --topic orders:0 --to-earliest --execute"),
        case("offset-out-of-range", "101 above the end 100, against 100", ends(101), ends(100))
            .command("kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --reset-offsets --group g --topic orders:0 --to-latest --execute"),
        case("negative-offset", "-1, against 0", offset(-1), offset(0)),
        case("absurd-offset", "10^15 and one, against 10^15", offset(1_000_000_000_000_001), offset(1_000_000_000_000_000)),
    ]
}

fn steps_of(offsets: &[i64]) -> Setup {
    at_once(offsets.iter().map(|offset| plain_commit("g", "orders", 0, *offset)).collect())
}

fn moved() -> Vec<Case> {
    let epochs = |offset| {
        let of = |offset, leader_epoch| Commit { leader_epoch, ..Commit::at(offset) };
        at_once(vec![commits("g", "orders", 0, of(10, 5), 3), commits("g", "orders", 0, of(offset, 4), 3)])
    };
    let wide = |to| {
        let member = k2("g", &[("m1", None, &subscription())]);
        at_once(vec![member, plain_commit("g", "orders", 0, 2_000_000), plain_commit("g", "orders", 0, to)])
    };
    let again = |times: usize| steps_of(&vec![7; times]);
    vec![
        case("leader-epoch-behind", "forward under epoch 4 after 5, against back", epochs(11), epochs(9)),
        case("offset-rewind", "10 and then 9, against 10 again", steps_of(&[10, 9]), steps_of(&[10, 10])),
        case("offset-rewind", "a million back with members is a warning", wide(1_000_000), wide(2_000_000))
            .severity("warning"),
        case("offset-rewind", "less is an info", wide(1_000_001), wide(2_000_001)),
        case(
            "offset-jump",
            "a million ahead, against one less",
            steps_of(&[0, 10, 1_000_010]),
            steps_of(&[0, 10, 1_000_009]),
        ),
        case("idle-recommits", "a hundred repeated, against 99", again(101), again(100)),
    ]
}

/// 10, then 9 in a transaction that aborts, and in one that commits.
pub fn rewinds_in_transactions() -> (Setup, Setup) {
    let ended = |ending| {
        Setup::batches(vec![
            Bat::of(vec![commit(0, "g", "orders", 0, 10)]),
            Bat::transactional(7, 0, vec![commit(1, "g", "orders", 0, 9)]),
            Bat::marker(ending, 2, T0, 7, 0),
        ])
    };
    (ended(Ending::Abort), ended(Ending::Commit))
}

fn transactions() -> Vec<Case> {
    let open = || Bat::transactional(1000, 3, vec![commit(0, "g", "orders", 0, 42)]);
    let ended = || Setup::batches(vec![open(), Bat::marker(Ending::Commit, 1, T0, 1000, 3)]);
    let alone = || Setup::batches(vec![open()]);
    let segments = |before: Vec<Bat>, behind: Vec<Bat>| Setup::segments(&[before, behind]);
    let plain_at = |at| Bat::of(vec![commit(at, "h", "orders", 0, at)]);
    let later = || Bat::transactional(1000, 3, vec![commit(2, "g", "orders", 0, 42)]);
    let pins = |now| segments(vec![open(), plain_at(1)], vec![plain_at(2)]).now(now);
    vec![
        case("open-transaction", "a minute old, against committed", alone().now(T0 + 60_000), ended().now(T0 + 60_000)),
        case(
            "open-transaction",
            "in the active segment, against in a closed one, which is worse",
            segments(vec![plain_at(0), plain_at(1)], vec![later()]).now(T0 + 60_000),
            pins(T0 + 60_000),
        ),
        case("cleaner-pinned", "for 15 minutes, against longer, which is worse", pins(T0 + 900_000), pins(T0 + 900_001)),
        case("hanging-transaction", "more than 15 minutes, against 15", alone().now(T0 + 900_001), alone().now(T0 + 900_000)).command(
            "kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic __consumer_offsets --partition 12 --start-offset 0",
        ),
        case(
            "hanging-transaction",
            "by --max-transaction-timeout",
            alone().args(&["--max-transaction-timeout", "59m"]),
            alone().args(&["--max-transaction-timeout", "61m"]),
        ),
        case(
            "cleaner-pinned",
            "open in a closed segment, against in the active one",
            segments(vec![open(), plain_at(1)], vec![plain_at(2)]).now(T0 + 60_000),
            segments(vec![plain_at(0), plain_at(1)], vec![later()]).now(T0 + 60_000),
        ),
    ]
}

/// Two closed segments and the active one, and how far the cleaner was.
fn cleaned(checkpoint: &str) -> Setup {
    let segment =
        |from: i64| (from..from + 10).map(|at| Bat::of(vec![commit(at, "g", "orders", 0, at)])).collect::<Vec<_>>();
    let setup = Setup::segments(&[segment(0), segment(10), segment(20)]).now(T0 + 2 * HOUR);
    setup.file("cleaner-offset-checkpoint", checkpoint)
}

fn log() -> Vec<Case> {
    let checkpoint = |at| format!("0\n1\n__consumer_offsets 12 {at}\n");
    let metadata = "x".repeat(30_000);
    let big = |partition_of: fn(i32) -> i32| {
        let one =
            |i| commits("g", "orders", partition_of(i), Commit { metadata: &metadata, ..Commit::at(i64::from(i)) }, 3);
        at_once((0..40).map(one).collect())
    };
    let horizon = |now| {
        let gone = Bat { delete_horizon_ms: Some(T0 + HOUR), ..Bat::of(vec![forget(0, "g", "orders", 0)]) };
        Setup::batches(vec![gone]).now(now)
    };
    let key_of = |key: Option<Vec<u8>>| {
        Setup::batches(vec![Bat::of(vec![Rec { offset: 0, timestamp: T0, key, value: Some(vec![0, 0]) }])])
    };
    let from = |at| Setup::batches(vec![Bat::of(vec![commit(at, "g", "orders", 0, 1)])]);
    let mine = || at_once(vec![plain_commit("my-group", "orders", 0, 1)]);
    let versions = |version| {
        at_once(vec![commits("g", "orders", 0, Commit::at(1), 1), commits("g", "orders", 1, Commit::at(1), version)])
    };
    let preview =
        v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null().count(0).end();
    let flipped = || mine().changed(|bytes| bytes[80] ^= 1);
    let sixty = || {
        let setup = mine();
        (0..60).for_each(|n| std::fs::create_dir_all(setup.path().join(format!("__consumer_offsets-{n}"))).unwrap());
        setup
    };
    vec![
        case(
            "cleaner-stuck",
            "checkpoint 0, against half of it cleaned",
            cleaned(&checkpoint(0)),
            cleaned(&checkpoint(10)),
        ),
        case(
            "cleaner-stuck",
            "not named in the checkpoint, against two hours less",
            cleaned("0\n0\n"),
            cleaned("0\n0\n").now(T0 + HOUR),
        ),
        case("active-segment-only", "a megabyte superseded, against all live", big(|_| 0), big(|i| i)),
        case(
            "tombstones-past-horizon",
            "at the horizon, against a millisecond before",
            horizon(T0 + HOUR),
            horizon(T0 + HOUR - 1),
        ),
        case("null-key", "no key, against one", key_of(None), mine()),
        case("unknown-type", "type 99, against type 1", key_of(Some(vec![0, 99])), mine()),
        case(
            "removable-empty-batches",
            "101 of a producer that is remembered by the last, against one fewer",
            emptied(101),
            emptied(100),
        ),
        case(
            "removable-empty-batches",
            "100 of a producer that is forgotten after a day, against a millisecond before",
            emptied(100).now(T0 + DAY),
            emptied(100).now(T0 + DAY - 1),
        ),
        case("cleanup-policy", "begins at 5, against 0", from(5), from(0)),
        case(
            "misplaced-group",
            "my-group in 12 of 60, against of 50",
            mine().args(&["--offsets-partitions", "60"]),
            mine().args(&["--offsets-partitions", "50"]),
        ),
        case("misplaced-group", "60 folders, against too few to tell", sixty(), mine()),
        case("mixed-value-versions", "1 and 3, against 1 alone", versions(3), versions(1)),
        case(
            "preview-schema",
            "a member of 3.7, against one of today",
            at_once(vec![kv(5, &["g", "m1"], preview)]),
            at_once(vec![c5("g", "m1")]),
        ),
        case("not-replayed", "a flipped bit, against none", flipped(), mine()),
    ]
}

fn privacy() -> Vec<Case> {
    let metadata = |metadata| at_once(vec![commits("g", "orders", 0, Commit { metadata, ..Commit::at(1) }, 3)]);
    vec![
        case(
            "client-addresses",
            "a member with a host, against no member",
            at_once(vec![k2("g", &[("m1", None, &subscription())])]),
            at_once(vec![k2("g", &[])]),
        ),
        case(
            "secret-in-metadata",
            "a password, against the word",
            metadata("password=hunter22"),
            metadata("passwordless"),
        ),
        case(
            "secret-in-metadata",
            "a header with a token, against one that says that there is none",
            metadata("Authorization: Bearer 5ca1ab1e"),
            metadata("Authorization: none"),
        ),
    ]
}

/// Some findings of several codes and severities.
pub fn several() -> Setup {
    let secret = Commit { metadata: "password=hunter22", ..Commit::at(1) };
    Setup::batches(plain(vec![
        (T0, k2("lively", &[("m1", None, &subscription())])),
        (T0, plain_commit("negative", "orders", 0, -1)),
        (T0, commits("secret", "orders", 0, secret, 3)),
    ]))
}

/// 50 000 groups of one program, and ten of people (C03).
pub fn fifty_thousand() -> Setup {
    let names = (0..50_000).map(uuid_name).chain((b'a'..=b'j').map(|c| format!("team-{}", char::from(c))));
    let records: Vec<_> = names.map(|name| (T0, plain_commit(&name, "orders", 0, 1))).collect();
    Setup::records(records).now(T0 + 40 * DAY)
}

/// C01: 40 segments of 500 commits of one key, and a cleaner that never came.
pub fn forty_segments() -> Setup {
    let segment = |n: i64| {
        let records = (n * 500..(n + 1) * 500).map(|at| commit(at, "g", "orders", 0, at));
        vec![Bat::of(records.collect())]
    };
    let segments: Vec<_> = (0..40).map(segment).collect();
    Setup::segments(&segments).now(T0 + 2 * HOUR).file("cleaner-offset-checkpoint", "0\n1\n__consumer_offsets 12 0\n")
}

/// C05: a transactional commit at offset 3, no marker, 10 000 plain commits behind it.
pub fn pinned() -> Setup {
    let open = Bat::transactional(1000, 3, vec![commit(3, "g", "orders", 0, 42)]);
    Setup::segments(&[vec![plain_until(0, 3), open, plain_until(4, 5000)], vec![plain_until(5000, 10_004)]])
}

/// Commits of one key, at offsets from one up to another.
pub fn plain_until(from: i64, to: i64) -> Bat {
    Bat::of((from..to).map(|at| commit(at, "h", "orders", 0, at)).collect())
}

/// C47: so many batches of a producer that a cleaner emptied, each with its marker.
pub fn emptied(batches: i64) -> Setup {
    let pair = |i: i64| [Bat::empty(2 * i, 2 * i, 5, 0), Bat::marker(Ending::Commit, 2 * i + 1, T0, 5, 0)];
    Setup::batches((0..batches).flat_map(pair).collect())
}

/// C07: one segment of 2 MB, nearly all superseded, and a cleaner that has nothing to do.
pub fn active_only() -> Setup {
    let metadata = "x".repeat(1000);
    let one = |i: i64| commits("g", "orders", 0, Commit { metadata: &metadata, ..Commit::at(i) }, 3);
    let setup = at_once((0..2000).map(one).collect()).now(T0 + 2 * HOUR);
    setup.file("cleaner-offset-checkpoint", "0\n0\n")
}

/// C33: 500 generations in ten minutes, of 3 and 4 members by turns.
pub fn storm() -> Setup {
    let subscription = subscription();
    let ids = ["m1", "m2", "m3", "m4"];
    let one = |i: i64| {
        let members: Vec<_> =
            ids.iter().take(3 + (i % 2) as usize).map(|id| (*id, None, subscription.as_slice())).collect();
        (T0 + i * 1200, generation("g", i as i32, &members))
    };
    Setup::records((0..500).map(one).collect())
}

/// Numbers at their ends, names of no sense, transactions that only end.
pub fn hostile() -> Vec<Setup> {
    let wild = |offset, time| Commit {
        commit_timestamp: time,
        expire_timestamp: time,
        leader_epoch: i32::MIN,
        ..Commit::at(offset)
    };
    let ends = [i64::MIN, -1, 0, i64::MAX];
    let all = || {
        ends.iter().flat_map(|offset| {
            ends.iter().map(|time| (*time, commits("\u{0}'$(x)", "o\n", i32::MIN, wild(*offset, *time), 1)))
        })
    };
    let epochs = |g: &str| [i32::MIN, -2, -1, i32::MAX].map(|epoch| (i64::MAX, c8(g, "m", epoch, &[], &[])));
    let markers = vec![
        Bat::marker(Ending::Commit, 0, i64::MAX, i64::MIN, i16::MIN),
        Bat::transactional(5, 0, vec![Rec { timestamp: i64::MIN, ..commit(1, "g", "t", 0, 1) }]),
        Bat::empty(2, 2, 5, 0),
        Bat::marker(Ending::Abort, 3, i64::MIN, 6, 0),
    ];
    vec![
        Setup::records(all().collect()),
        Setup::records(all().collect()).now(i64::MAX),
        Setup::records(all().collect()).now(0),
        Setup::records(epochs("g").into_iter().chain(epochs("")).collect()),
        Setup::batches(markers),
        Setup::segments(&[vec![], vec![]]),
        Setup::records(
            (0..3).map(|i| (if i % 2 == 0 { i64::MAX } else { i64::MIN }, generation("g", i, &[]))).collect(),
        ),
    ]
}
