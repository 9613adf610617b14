//! Crafted partitions, one per rule by which a group coordinator refuses a partition, for those that
//! fixtures/verdicts leaves open. Each begins with a sound commit of another group.

#![allow(dead_code, clippy::unwrap_used, reason = "helpers, of which no test uses all")]

use super::build::{Bat, Ending, Rec, T0, commit, forget};
use super::group_records::*;

/// A partition with one odd thing in it.
pub struct Case {
    pub what: &'static str,
    pub batches: Vec<Bat>,
}

/// The cases in order. A case keeps its place, which is its partition's number in the recording: new ones go to the end.
pub fn cases() -> Vec<Case> {
    let mut list = Cases(Vec::new());
    consumer_tombstones(&mut list);
    absent(&mut list);
    clashes(&mut list);
    shares(&mut list);
    streams(&mut list);
    ownership(&mut list);
    keys(&mut list);
    values(&mut list);
    previews(&mut list);
    members(&mut list);
    others(&mut list);
    more(&mut list);
    list.0
}

struct Cases(Vec<Case>);

impl Cases {
    /// Records of the group `v-N`, a batch each.
    fn add(&mut self, what: &'static str, records: impl FnOnce(&str) -> Vec<Kv>) {
        self.batches(what, |g| plain(records(g)));
    }

    /// Whole batches; their offsets are given here.
    fn batches(&mut self, what: &'static str, batches: impl FnOnce(&str) -> Vec<Bat>) {
        let n = self.0.len();
        let mut all = vec![Bat::of(vec![commit(0, &format!("ok-{n}"), "orders", 0, 42)])];
        let mut offset = 1;
        for mut batch in batches(&format!("v-{n}")) {
            let last = offset + batch.records.len() as i64 - 1;
            (batch.base_offset, batch.last_offset) = (offset, last);
            (offset..).zip(&mut batch.records).for_each(|(offset, record)| record.offset = offset);
            offset = last + 1;
            all.push(batch);
        }
        self.0.push(Case { what, batches: all });
    }
}

fn consumer_tombstones(list: &mut Cases) {
    list.add("a consumer group taken down in order, twice", |g| {
        [consumer_up(g), consumer_down(g), consumer_down(g)].concat()
    });
    list.add("a consumer member deleted while it has an epoch", |g| {
        vec![c5(g, "m1"), c8(g, "m1", 5, &[], &[]), gone(5, &[g, "m1"])]
    });
    list.add("a consumer member deleted while it has a target", |g| {
        vec![c5(g, "m1"), c7(g, "m1", &[]), gone(8, &[g, "m1"]), gone(5, &[g, "m1"])]
    });
    list.add("a consumer member deleted that never had an assignment", |g| vec![c5(g, "m1"), gone(5, &[g, "m1"])]);
    list.add("a consumer group deleted while targets are left", |g| {
        vec![c3(g), c6(g), c7(g, "m1", &[]), gone(3, &[g])]
    });
    list.add("a consumer group deleted without its target assignment", |g| vec![c3(g), gone(3, &[g])]);
    list.add("a consumer group deleted, its target assignment before", |g| {
        vec![c3(g), c6(g), gone(6, &[g]), gone(3, &[g])]
    });
    list.add("a consumer group's target assignment deleted while targets are left", |g| {
        vec![c3(g), c7(g, "m1", &[]), gone(6, &[g])]
    });
    list.add("a consumer group deleted, made again and deleted", |g| {
        [consumer_up(g), consumer_down(g), consumer_up(g), consumer_down(g)].concat()
    });
    list.add("a simple group, and a consumer group's last tombstone", |g| vec![o1(g), gone(3, &[g])]);
    list.add("a simple group, and all tombstones of a consumer group", |g| [vec![o1(g)], consumer_down(g)].concat());
}

fn absent(list: &mut Cases) {
    list.add("a target deleted of a consumer group that never was", |g| vec![gone(7, &[g, "m1"])]);
    list.add("a target assignment deleted of a consumer group that never was", |g| vec![gone(6, &[g])]);
    list.add("a member deleted of a consumer group that never was", |g| vec![gone(5, &[g, "m1"])]);
    list.add("topics deleted of a consumer group that never was", |g| vec![gone(4, &[g])]);
    list.add("a regular expression deleted of a consumer group that never was", |g| vec![gone(16, &[g, "a.*"])]);
    list.add("a consumer group's topics first", |g| vec![c4(g, &T, "orders", 3)]);
    list.add("a consumer group's target assignment first", |g| vec![c6(g)]);
    list.add("a consumer group's target first", |g| vec![c7(g, "m1", &[])]);
    list.add("a consumer group's regular expression first", |g| vec![c16(g)]);
    list.add("a consumer group's epoch first", |g| vec![c3(g), c5(g, "m1")]);
    list.add("a member deleted that its consumer group never had", |g| vec![c3(g), gone(5, &[g, "m1"])]);
    list.add("an assignment deleted of a member that its consumer group never had", |g| {
        vec![c3(g), gone(8, &[g, "m1"])]
    });
    list.add("an assignment of a member that its consumer group never had", |g| {
        vec![c3(g), c8(g, "m1", 5, &[(T, &[0])], &[])]
    });
}

fn clashes(list: &mut Cases) {
    let member: ClassicMember<'static> = ("m1", None, &[]);
    list.add("a classic group over a consumer group", |g| [consumer_up(g), vec![k2(g, &[member])]].concat());
    list.add("a classic group over a consumer group, whose tombstones follow", |g| {
        [consumer_up(g), vec![k2(g, &[member])], consumer_down(g)].concat()
    });
    list.add("a consumer group over an empty classic group with a protocol type", |g| {
        vec![kv(2, &[g], classic("consumer", None, &[])), c3(g)]
    });
    list.add("a consumer group over an empty classic group without one", |g| {
        vec![kv(2, &[g], classic("", None, &[])), c3(g)]
    });
    list.add("a consumer group over a deleted classic group", |g| {
        [vec![k2(g, &[member]), o1(g), gone(2, &[g])], consumer_up(g)].concat()
    });
    list.add("a consumer group's tombstone on a classic group", |g| vec![k2(g, &[member]), gone(8, &[g, "m1"])]);
    list.add("a consumer group's regular expression on a classic group", |g| vec![k2(g, &[member]), c16(g)]);
    list.add("commits of a consumer group, and their tombstone", |g| {
        let forgotten = forget(0, g, "orders", 0);
        [consumer_up(g), vec![o1(g), (forgotten.key, None)]].concat()
    });
    list.add("a share group over a consumer group", |g| [consumer_up(g), share_up(g)].concat());
    list.add("a share group's tombstone on a consumer group", |g| {
        [consumer_up(g), vec![gone(14, &[g, "m1"])]].concat()
    });
    list.add("a share group over a classic group", |g| vec![k2(g, &[member]), s11(g)]);
    list.add("a share group's tombstone on a simple group", |g| vec![o1(g), gone(11, &[g])]);
    list.add("a consumer group's tombstone on a share group", |g| [share_up(g), vec![gone(3, &[g])]].concat());
    list.add("a classic group over a share group", |g| [share_up(g), vec![k2(g, &[member])]].concat());
    list.add("a streams group over a consumer group", |g| [consumer_up(g), streams_up(g)].concat());
    list.add("a streams group over a simple group", |g| [vec![o1(g)], streams_up(g)].concat());
    list.add("a streams group's last tombstone on a simple group", |g| vec![o1(g), gone(17, &[g])]);
    list.add("a streams group over a classic group", |g| vec![k2(g, &[member]), t17(g)]);
    list.add("a streams group over a share group", |g| [share_up(g), streams_up(g)].concat());
    list.add("a share group over a streams group", |g| [streams_up(g), share_up(g)].concat());
    list.add("a consumer group over a streams group", |g| [streams_up(g), consumer_up(g)].concat());
    list.add("a classic group over a streams group", |g| [streams_up(g), vec![k2(g, &[member])]].concat());
}

fn shares(list: &mut Cases) {
    list.add("a share group taken down in order", |g| [share_up(g), share_down(g)].concat());
    list.add("a share group's tombstones, of none", share_down);
    list.add("a share member deleted while it has an epoch", |g| {
        vec![s10(g, "m1"), s14(g, "m1", 5, &[]), gone(10, &[g, "m1"])]
    });
    list.add("a share member deleted while it has a target", |g| {
        vec![s10(g, "m1"), s13(g, "m1", &[]), gone(14, &[g, "m1"]), gone(10, &[g, "m1"])]
    });
    list.add("a share group deleted with its member still there", |g| vec![s10(g, "m1"), s11(g), gone(11, &[g])]);
    list.add("a share group deleted while targets are left", |g| {
        vec![s11(g), s12(g), s13(g, "m1", &[]), gone(11, &[g])]
    });
    list.add("a share group deleted without its target assignment", |g| vec![s11(g), gone(11, &[g])]);
    list.add("a share group's target assignment deleted while targets are left", |g| {
        vec![s11(g), s13(g, "m1", &[]), gone(12, &[g])]
    });
    list.add("a share member deleted that its group never had", |g| vec![s11(g), gone(10, &[g, "m1"])]);
    list.add("a share member's assignment deleted that its group never had", |g| vec![s11(g), gone(14, &[g, "m1"])]);
    list.add("a share member's assignment first", |g| vec![s11(g), s14(g, "m1", 5, &[(T, &[0])])]);
    list.add("a share group's target assignment first", |g| vec![s12(g), s11(g)]);
    list.add("a share group's target first", |g| vec![s13(g, "m1", &[(T, &[0])]), s11(g)]);
    list.add("a share group's partition state in the shape of 4.1", |g| [share_up(g), vec![s15(g, &[T])]].concat());
    list.add("a share group's partition state, of no group", |g| vec![s15(g, &[T])]);
    list.add("a share group's partition state deleted, of no group", |g| vec![gone(15, &[g])]);
    list.add("a share group's partition state with a topic twice", |g| vec![s11(g), s15(g, &[T, T])]);
    list.add("a share partition owned twice", |g| {
        vec![s11(g), s10(g, "m1"), s10(g, "m2"), s14(g, "m1", 5, &[(T, &[0])]), s14(g, "m2", 5, &[(T, &[0])])]
    });
    list.add("a share member's assignment with a topic twice", |g| {
        vec![s10(g, "m1"), s14(g, "m1", 5, &[(T, &[0]), (T, &[1])])]
    });
    list.add("a share member's target with a topic twice", |g| vec![s11(g), s13(g, "m1", &[(T, &[0]), (T, &[1])])]);
    list.add("the topics (type 9) of a share group that never was", |g| vec![s9(g)]);
    list.add("the topics (type 9) deleted of a share group that never was", |g| vec![gone(9, &[g])]);
}

fn streams(list: &mut Cases) {
    list.add("a streams group taken down in order", |g| [streams_up(g), streams_down(g)].concat());
    list.add("a streams group's tombstones, of none", streams_down);
    list.add("a streams group's tombstones, twice", |g| [streams_up(g), streams_down(g), streams_down(g)].concat());
    list.add("a streams group deleted with its member still there", |g| vec![t19(g, "m1", "p", &[]), gone(17, &[g])]);
    list.add("a streams group deleted without its target assignment", |g| vec![t17(g), gone(17, &[g])]);
    list.add("a streams group deleted while targets are left", |g| {
        vec![t17(g), gone(20, &[g]), t21(g, "m1", &[]), gone(17, &[g])]
    });
    list.add("a streams group's target assignment deleted while targets are left", |g| {
        vec![t17(g), t21(g, "m1", &[]), gone(20, &[g])]
    });
    list.add("a streams member deleted that never had tasks", |g| vec![t19(g, "m1", "p", &[]), gone(19, &[g, "m1"])]);
    list.add("a streams member deleted while it has a target", |g| {
        vec![t19(g, "m1", "p", &[]), t21(g, "m1", &[]), gone(22, &[g, "m1"]), gone(19, &[g, "m1"])]
    });
    list.add("a streams member's tasks first", |g| vec![t22(g, "m1", 5, &[("0", &[0])]), t17(g)]);
    list.add("a streams member's tasks before the member", |g| {
        vec![t22(g, "m1", 5, &[("0", &[0])]), t19(g, "m1", "p", &[]), t17(g)]
    });
    list.add("a streams task run by two processes", |g| {
        let run = |m: &str| t22(g, m, 5, &[("0", &[0])]);
        vec![t19(g, "m1", "p1", &[]), t19(g, "m2", "p2", &[]), t17(g), run("m1"), run("m2")]
    });
    list.add("a streams member's tasks with a subtopology twice", |g| {
        vec![t19(g, "m1", "p", &[]), t22(g, "m1", 5, &[("0", &[0]), ("0", &[1])])]
    });
    list.add("a streams member's target with a subtopology twice", |g| {
        vec![t17(g), t21(g, "m1", &[("0", &[0]), ("0", &[1])])]
    });
    list.add("a streams topology with a subtopology twice", |g| vec![t17(g), t23(g, &["0", "0"])]);
    list.add("a streams member with a client tag twice", |g| vec![t19(g, "m1", "p", &["zone", "zone"])]);
    list.add("a streams group with an assignment setting twice", |g| {
        let setting = |w: W| w.ctext("a").ctext("b").end();
        let tag = setting(setting(W::default().count(2))).0;
        vec![kv(17, &[g], v(0).i32(5).i64(7).uv(1).uv(1).uv(tag.len() as u32).raw(&tag))]
    });
    list.add("a streams member's tasks with fewer assignment epochs than partitions", |g| {
        let tag = W::default().ints(&[5]).0;
        let active = v(0).i32(5).i32(4).i8(1).count(1).ctext("0").ints(&[0, 1]);
        let active = active.uv(1).uv(0).uv(tag.len() as u32).raw(&tag);
        vec![kv(22, &[g, "m1"], active.count(0).count(0).count(0).count(0).count(0).end())]
    });
}

fn ownership(list: &mut Cases) {
    let owns: Topics<'static> = &[(T, &[0])];
    list.add("a partition taken at a greater epoch", |g| vec![c8(g, "m1", 5, owns, &[]), c8(g, "m2", 6, owns, &[])]);
    list.add("a partition taken at a greater epoch, then its first owner's metadata", |g| {
        vec![c5(g, "m1"), c5(g, "m2"), c8(g, "m1", 5, owns, &[]), c8(g, "m2", 6, owns, &[]), c5(g, "m1")]
    });
    list.add("a partition taken at a greater epoch, then given up by its first owner", |g| {
        vec![c8(g, "m1", 5, owns, &[]), c8(g, "m2", 6, owns, &[]), c8(g, "m1", 7, &[], &[])]
    });
    list.add("a partition taken at a greater epoch, given up by its first owner and taken at the same epoch", |g| {
        let taken = vec![c8(g, "m1", 5, owns, &[]), c8(g, "m2", 6, owns, &[])];
        [taken, vec![gone(8, &[g, "m1"]), c8(g, "m3", 6, owns, &[])]].concat()
    });
    list.add("a partition taken while its owner gives it up", |g| {
        vec![c8(g, "m1", 5, &[], owns), c8(g, "m2", 5, owns, &[])]
    });
    list.add("a partition taken at a greater epoch while its owner gives it up", |g| {
        vec![c8(g, "m1", 5, &[], owns), c8(g, "m2", 6, owns, &[])]
    });
    list.add("a partition of one member both assigned and being given up", |g| vec![c8(g, "m1", 5, owns, owns)]);
    list.add("a partition twice in one assignment", |g| vec![c8(g, "m1", 5, &[(T, &[0, 0])], &[])]);
    list.add("a topic twice in one assignment", |g| vec![c8(g, "m1", 5, &[(T, &[0]), (T, &[1])], &[])]);
    list.add("a topic twice in one assignment, its first entry then taken", |g| {
        vec![c8(g, "m1", 5, &[(T, &[0]), (T, &[1])], &[]), c8(g, "m2", 5, owns, &[])]
    });
    list.add("a topic twice in one target", |g| vec![c3(g), c7(g, "m1", &[(T, &[0]), (T, &[1])])]);
    list.add("a partition given up and taken at one epoch", |g| {
        vec![c8(g, "m1", 5, owns, &[]), gone(8, &[g, "m1"]), c8(g, "m2", 5, owns, &[])]
    });
    list.add("a partition of two topics", |g| vec![c8(g, "m1", 5, owns, &[]), c8(g, "m2", 5, &[(U, &[0])], &[])]);
    list.add("a partition taken by an earlier epoch after its owner's was raised", |g| {
        vec![c8(g, "m1", 5, owns, &[]), c8(g, "m1", 9, owns, &[]), c8(g, "m2", 8, owns, &[])]
    });
    list.add("a member deleted that lost its partition", |g| {
        let taken = vec![c5(g, "m1"), c8(g, "m1", 5, owns, &[]), c8(g, "m2", 6, owns, &[])];
        [taken, vec![gone(8, &[g, "m1"]), gone(5, &[g, "m1"])]].concat()
    });
}

fn keys(list: &mut Cases) {
    let value = || o1("x").1;
    list.add("an empty key", |_| vec![(Some(vec![]), value())]);
    list.add("a key of one byte", |_| vec![(Some(vec![0]), value())]);
    list.add("a key of type 1 cut short", |g| vec![(o1(g).0.map(|key| key[..key.len() - 1].to_vec()), value())]);
    list.add("a key of type 2 cut short", |_| vec![(Some(vec![0, 2, 0, 9, b'g']), None)]);
    list.add("a key of type 5 cut short", |g| vec![(Some(key(5, &[g])), None)]);
    list.add("a key with a null group", |_| vec![(Some(v(1).i16(-1).text("orders").i32(0).0), value())]);
    list.add("a key of type 2 with a group length of -7", |_| vec![(Some(v(2).i16(-7).0), None)]);
    list.add("a key of type 1 with bytes to spare", |g| {
        vec![(o1(g).0.map(|key| [key, vec![1, 2, 3]].concat()), value())]
    });
    list.add("a key of type 5 with bytes to spare", |g| {
        vec![(Some([key(5, &[g, "m1"]), vec![9]].concat()), c5(g, "m1").1)]
    });
    list.add("a key of type 99 alone", |_| vec![(Some(vec![0, 99]), Some(vec![]))]);
    list.add("a key of type -1", |_| vec![(Some(vec![0xff, 0xff, 0, 0]), value())]);
    list.add("a key of type 18", |g| vec![kv(18, &[g], v(0).count(0).end())]);
    list.add("a key of JSON", |_| vec![(Some(b"{\"group\":1}".to_vec()), value())]);
    list.add("a group without a name", |_| vec![o1("")]);
    list.add("a type 0 tombstone", |g| vec![(o0_with(g, v(0)).0, None)]);
}

fn values(list: &mut Cases) {
    list.add("an empty value of type 2", |g| vec![kv(2, &[g], W::default())]);
    list.add("a value of one byte of type 1", |g| vec![o1_with(g, W::default().i8(0))]);
    list.add("an empty value of type 3", |g| vec![kv(3, &[g], W::default())]);
    list.add("an empty value of type 99", |g| vec![kv(99, &[g], W::default())]);
    list.add("a value of type 1 and version -1", |g| vec![o1_with(g, v(-1).i64(42).text("").i64(T0))]);
    list.add("a value of type 1 and version 0", |g| vec![o1_with(g, v(0).i64(42).text("").i64(T0))]);
    list.add("a value of type 1 and version 4", |g| vec![o1_with(g, v4(4).end())]);
    list.add("a value of type 1 and version 5, laid out as 4", |g| vec![o1_with(g, v4(5).end())]);
    list.add("a value of version 4 with an unknown tag", |g| vec![o1_with(g, v4(4).uv(1).uv(7).uv(2).i16(1))]);
    list.add("a value of version 4 with tags out of order", |g| {
        vec![o1_with(g, v4(4).uv(2).uv(7).uv(1).i8(1).uv(3).uv(1).i8(1))]
    });
    list.add("a value of version 4 with a tag twice", |g| {
        vec![o1_with(g, v4(4).uv(2).uv(7).uv(1).i8(1).uv(7).uv(1).i8(1))]
    });
    list.add("a value of version 4 with a topic id that says it has 2 bytes", |g| {
        vec![o1_with(g, v4(4).uv(1).uv(0).uv(2).raw(&T))]
    });
    list.add("a value of version 4 with a topic id of 2 bytes", |g| vec![o1_with(g, v4(4).uv(1).uv(0).uv(2).i16(1))]);
    list.add("a value of version 4 with an unknown tag cut short", |g| vec![o1_with(g, v4(4).uv(1).uv(7).uv(9).i8(1))]);
    list.add("a value of version 4 with metadata of 40000 bytes", |g| {
        vec![o1_with(g, v(4).i64(42).i32(-1).ctext(&"x".repeat(40_000)).i64(T0).end())]
    });
    list.add("a value of version 3 with null metadata", |g| vec![o1_with(g, v(3).i64(42).i32(-1).i16(-1).i64(T0))]);
    list.add("a value of type 2 cut short", |g| {
        let value = classic("consumer", Some("range"), &[("m1", None, &[])]).0;
        vec![(Some(key(2, &[g])), Some(value[..value.len() - 3].to_vec()))]
    });
    list.add("a value of type 2 with a protocol of length -5", |g| {
        vec![kv(2, &[g], v(3).text("consumer").i32(7).i16(-5).i16(-6).i64(T0).i32(0))]
    });
    list.add("a value of type 2 and version 5 without members, laid out as 4", |g| {
        vec![kv(2, &[g], v(5).ctext("consumer").i32(7).null().null().i64(T0).count(0).end())]
    });
    list.add("a value of type 2 and version 5 with a member, laid out as 4", |g| {
        let value = v(5).ctext("consumer").i32(7).null().null().i64(T0).count(1);
        let value = value.ctext("m1").null().ctext("c").ctext("/h").i32(1).i32(1).count(0).count(0).end();
        vec![kv(2, &[g], value.end())]
    });
    list.add("a value of type 2 with more members than bytes", |g| {
        vec![kv(2, &[g], v(3).text("consumer").i32(7).i16(-1).i16(-1).i64(T0).i32(1_000_000))]
    });
    list.add("a value of type 3 and version 1", |g| vec![kv(3, &[g], v(1).i32(5).end())]);
    list.add("a value of type 3 and version -1", |g| vec![kv(3, &[g], v(-1).i32(5).end())]);
    list.add("a value of type 3 cut short", |g| vec![kv(3, &[g], v(0).i16(5))]);
    list.add("a value of type 8 and version 1 without partitions", |g| {
        vec![c5(g, "m1"), kv(8, &[g, "m1"], v(1).i32(5).i32(4).i8(0).count(0).count(0).end())]
    });
    list.add("a value of type 8 and version 1 with partitions", |g| {
        let value = topics(v(1).i32(5).i32(4).i8(0), &[(T, &[0])]).count(0).end();
        vec![c5(g, "m1"), kv(8, &[g, "m1"], value)]
    });
    list.add("a value of type 8 with state 99", |g| {
        vec![c5(g, "m1"), kv(8, &[g, "m1"], v(0).i32(5).i32(4).i8(99).count(0).count(0).end())]
    });
    list.add("a value of type 8 with an assignment epoch too few", |g| {
        let tag = W::default().ints(&[5]).0;
        let topic = v(0).i32(5).i32(4).i8(0).count(1).raw(&T).ints(&[0, 1]);
        let topic = topic.uv(1).uv(0).uv(tag.len() as u32).raw(&tag);
        vec![c5(g, "m1"), kv(8, &[g, "m1"], topic.count(0).end())]
    });
    list.add("a value of type 8 with a tag 0 that is no array of epochs", |g| {
        let topic = v(0).i32(5).i32(4).i8(0).count(1).raw(&T).ints(&[0]).uv(1).uv(0).uv(1).uv(120);
        vec![c5(g, "m1"), kv(8, &[g, "m1"], topic.count(0).end())]
    });
    list.add("a value of type 4 with a topic without an id", |g| vec![c5(g, "m1"), c4(g, &[0; 16], "orders", 3)]);
    list.add("a value of type 4 with a topic without a name", |g| vec![c5(g, "m1"), c4(g, &T, "", 3)]);
    list.add("a value of type 4 with a topic of -1 partitions", |g| vec![c5(g, "m1"), c4(g, &T, "orders", -1)]);
    list.add("a value of type 0 and version 0", |g| vec![o0_with(g, v(0).i64(42).text("").i64(T0))]);
    list.add("a value of type 0 and version 1", |g| vec![o0_with(g, v(1).i64(42).text("").i64(T0).i64(-1))]);
    list.add("a value of type 0 and version 4", |g| vec![o0_with(g, v4(4).end())]);
    list.add("a value of type 16 cut short", |g| vec![kv(16, &[g, "a.*"], v(0).count(0).i64(1))]);
    list.add("a value of type 18 that is none", |g| vec![kv(18, &[g], W::default().i8(1))]);
}

fn previews(list: &mut Cases) {
    list.add("a consumer group's topics in the shape of 3.7", |g| {
        let value = v(0).i32(1).count(1).raw(&T).ctext("orders").i32(3).count(0).end();
        vec![c5(g, "m1"), kv(4, &[g], value.end())]
    });
    list.add("a consumer member in the shape of 3.7", |g| {
        let value = v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null();
        vec![kv(5, &[g, "m1"], value.count(0).end())]
    });
    list.add("a consumer member's target in the shape of 3.7", |g| {
        vec![c5(g, "m1"), kv(7, &[g, "m1"], topics(v(0).i8(0), &[(T, &[0])]).i16(0).count(0).end())]
    });
    list.add("a consumer member's assignment in the shape of 3.7", |g| {
        let value = topics(v(0).i32(5).i32(4).i32(5), &[(T, &[0])]).count(0).count(0);
        vec![c5(g, "m1"), kv(8, &[g, "m1"], value.i8(0).i16(0).count(0).end())]
    });
    list.add("a share group in the shape of 3.9 and 4.0", |g| vec![kv(11, &[g], v(0).i32(5).end())]);
    list.add("a share group's state (type 9) in the shape of 3.9", |g| {
        let value = v(0).count(1).raw(&T).ctext("orders").ints(&[0]).end().count(0).end();
        vec![s11(g), kv(9, &[g], value)]
    });
    list.add("a share group's empty partition state in the shape of 4.0", |g| {
        vec![s11(g), kv(15, &[g], v(0).count(0).count(0).end())]
    });
    list.add("a share group's topics (type 9)", |g| vec![s11(g), s9(g)]);
}

fn members(list: &mut Cases) {
    let sound = subscription();
    list.add("a classic group with two static members", |g| {
        vec![k2(g, &[("m1", Some("i1"), &sound), ("m2", Some("i2"), &sound)])]
    });
    list.add("a classic group with one instance id twice", |g| {
        vec![k2(g, &[("m1", Some("i1"), &sound), ("m2", Some("i1"), &sound)])]
    });
    list.add("a classic group with a member twice", |g| vec![k2(g, &[("m1", None, &sound), ("m1", None, &sound)])]);
    list.add("a classic group with a member twice and one behind", |g| {
        vec![k2(g, &[("m1", None, &sound), ("m1", None, &sound), ("m2", None, &sound)])]
    });
    list.add("a classic group with a member and no protocol type", |g| {
        vec![kv(2, &[g], classic("", Some("range"), &[("m1", None, &sound)]))]
    });
    list.add("a classic group with members and no protocol", |g| {
        vec![kv(2, &[g], classic("consumer", None, &[("m1", None, &sound), ("m2", None, &sound)]))]
    });
    list.add("a subscription of nothing", |g| vec![with_subscription(g, "consumer", &[])]);
    list.add("a subscription cut short", |g| vec![with_subscription(g, "consumer", &sound[..4])]);
    list.add("a subscription of version -1", |g| vec![with_subscription(g, "consumer", &[0xff; 8])]);
    list.add("a subscription to null", |g| {
        vec![with_subscription(g, "consumer", &W::default().i16(0).i32(-1).i32(-1).0)]
    });
    list.add("a subscription to a null topic", |g| {
        vec![with_subscription(g, "consumer", &W::default().i16(0).i32(1).i16(-1).i32(-1).0)]
    });
    list.add("a subscription to a topic cut short", |g| {
        vec![with_subscription(g, "consumer", &W::default().i16(0).i32(1).i16(9).raw(b"ord").0)]
    });
    list.add("a subscription of JSON", |g| vec![with_subscription(g, "consumer", b"{\"topics\":[\"orders\"]}")]);
    list.add("a subscription with user data cut short", |g| {
        vec![with_subscription(g, "consumer", &W::default().i16(0).i32(0).i32(9).0)]
    });
    list.add("JSON in the place of a subscription, of another protocol type", |g| {
        vec![with_subscription(g, "sr", b"{\"topics\":[\"orders\"]}")]
    });
    list.add("a subscription of JSON, and no protocol", |g| {
        vec![kv(2, &[g], classic("consumer", None, &[("m1", None, b"{\"topics\":[\"orders\"]}")]))]
    });
}

fn others(list: &mut Cases) {
    list.batches("a consumer group in a transaction that never ends", |g| transactional(1001, consumer_up(g)));
    list.batches("a member's epoch in a transaction that is aborted, and its tombstone", |g| {
        let written = transactional(1002, vec![c5(g, "m1"), c8(g, "m1", 5, &[], &[])]);
        [written, marker(Ending::Abort, 1002), plain(vec![gone(5, &[g, "m1"])])].concat()
    });
    list.batches("commits in a transaction that never ends", |g| transactional(1003, vec![o1(g)]));
    list.batches("a classic group deleted, whose commits wait", |g| {
        [plain(vec![k2(g, &[]), gone(2, &[g])]), transactional(1004, vec![o1(g)])].concat()
    });
    list.batches("a simple group made by an aborted commit, and a share group", |g| {
        [transactional(1005, vec![o1(g)]), marker(Ending::Abort, 1005), plain(vec![s11(g)])].concat()
    });
    list.add("a consumer group whose name is no UTF-8", |_| {
        let name = |number: i16, member: &[u8]| Some([&number.to_be_bytes()[..], b"\0\x02g\xff", member].concat());
        vec![(name(5, b"\0\x02m1"), c5("", "").1), (name(3, b""), c3("").1)]
    });
    list.add("a classic and a consumer group whose names differ in what is no UTF-8", |_| {
        let classic = Some(b"\0\x02\0\x02q\xff".to_vec());
        vec![(classic, k2("", &[("m1", None, &[])]).1), (Some(b"\0\x03\0\x02q\xfe".to_vec()), c3("").1)]
    });
    list.batches("a commit in a message of magic 1", |g| vec![Bat { magic: 1, ..Bat::of(vec![record(o1(g))]) }]);
    list.batches("a message of magic 1 without a key", |_| {
        vec![Bat { magic: 1, ..Bat::of(vec![record((None, o1("x").1))]) }]
    });
}

/// Tagged fields of one known tag whose content is too short for it.
fn bad_tag(w: W) -> W {
    w.uv(1).uv(0).uv(1).i8(1)
}

fn more(list: &mut Cases) {
    list.add("a streams member whose process changes while it runs a task", |g| {
        [streams_up(g), vec![t19(g, "m1", "p2", &[])], streams_down(g)].concat()
    });
    list.add("a streams task taken over at a later epoch", |g| {
        let member = |m: &str, process: &str| t19(g, m, process, &[]);
        let tasks = |m: &str, epoch: i32| t22(g, m, epoch, &[("0", &[0])]);
        vec![member("m1", "p1"), member("m2", "p2"), t17(g), tasks("m1", 5), tasks("m2", 6), gone(22, &[g, "m1"])]
    });
    list.add("a streams standby task of two members in one process, given up by both", |g| {
        let standby = |m: &str| {
            let value = v(0).i32(5).i32(4).i8(1).count(0).count(1).ctext("0").ints(&[0]).end();
            kv(22, &[g, m], value.count(0).count(0).count(0).count(0).end())
        };
        let members = vec![t19(g, "m1", "p", &[]), t19(g, "m2", "p", &[]), t17(g), standby("m1"), standby("m2")];
        [members, vec![gone(22, &[g, "m1"]), gone(22, &[g, "m2"])]].concat()
    });
    list.add("a consumer member that left by its epoch, then deleted", |g| {
        vec![c5(g, "m1"), c8(g, "m1", -1, &[], &[]), gone(5, &[g, "m1"])]
    });
    list.add("a share member that left by its epoch, then deleted", |g| {
        vec![s10(g, "m1"), s14(g, "m1", -1, &[]), gone(10, &[g, "m1"])]
    });
    list.add("metadata whose length is a varint of too many bits", |g| {
        vec![o1_with(g, v(4).i64(42).i32(-1).raw(&[0x81, 0x80, 0x80, 0x80, 0x10]).i64(T0).end())]
    });
    list.add("a number of tags that is a varint of six bytes", |g| {
        vec![o1_with(g, v4(4).raw(&[0x80, 0x80, 0x80, 0x80, 0x80, 0]))]
    });
    list.add("a value of type 3 with a tag 0 that is no hash", |g| vec![kv(3, &[g], bad_tag(v(0).i32(5)))]);
    list.add("a value of type 6 with a tag 0 that is no time", |g| vec![kv(6, &[g], bad_tag(v(0).i32(5)))]);
    list.add("a value of type 12 with a tag 0 that is no time", |g| vec![s11(g), kv(12, &[g], bad_tag(v(0).i32(5)))]);
    list.add("a value of type 17 with a tag 0 that is no epoch", |g| vec![kv(17, &[g], bad_tag(v(0).i32(5).i64(7)))]);
    list.add("a value of type 17 with a tag 2 that is no epoch", |g| {
        vec![kv(17, &[g], v(0).i32(5).i64(7).uv(1).uv(2).uv(1).i8(1))]
    });
    list.add("a value of type 5 with a tag 0 that is no classic member", |g| {
        let value = v(0).null().null().ctext("c").ctext("/h").count(0).null().i32(300_000).null();
        vec![kv(5, &[g, "m1"], bad_tag(value))]
    });
    list.add("a value of type 5 with classic protocols, one twice", |g| {
        let value = v(0).null().null().ctext("c").ctext("/h").count(0).null().i32(300_000).null();
        let range = |w: W| w.ctext("range").count(0).end();
        let tag = range(range(W::default().uv(1).i32(30_000).count(2))).end().0;
        let record = kv(5, &[g, "m1"], value.uv(1).uv(0).uv(tag.len() as u32).raw(&tag));
        vec![record.clone(), record, gone(8, &[g, "m1"]), gone(5, &[g, "m1"])]
    });
    list.add("a value of type 11 with bytes to spare", |g| vec![kv(11, &[g], v(0).i32(5).i64(7).end().i8(9))]);
    list.add("the topics (type 9) of a share group, one without an id", |g| {
        let (_, value) = c4(g, &[0; 16], "orders", 3);
        vec![s11(g), (Some(key(9, &[g])), value)]
    });
    list.batches("a record of no key in the middle of a batch in zstd", |g| {
        let records = vec![record(o1(g)), record((None, o1(g).1)), record(o1(g))];
        vec![Bat { codec: grouplog::log::Codec::Zstd, ..Bat::of(records) }]
    });
    list.batches("messages of magic 0 in gzip", |g| {
        let records = vec![Rec { timestamp: -1, ..record(o1(g)) }, Rec { timestamp: -1, ..record(gone(2, &[g])) }];
        vec![Bat { magic: 0, codec: grouplog::log::Codec::Gzip, ..Bat::of(records) }]
    });
    list.add("two consumer members with one instance id", |g| {
        let member = |m: &str| {
            let value = v(0).ctext("i1").null().ctext("c").ctext("/h").count(0).null().i32(300_000).null();
            kv(5, &[g, m], value.end())
        };
        vec![member("m1"), member("m2"), gone(8, &[g, "m1"]), gone(5, &[g, "m1"]), c3(g)]
    });
    list.add("a regular expression of a consumer group, twice, and its tombstone twice", |g| {
        vec![c16(g), c16(g), gone(16, &[g, "ord.*"]), gone(16, &[g, "ord.*"])]
    });
    list.add("a share group over a simple group whose classic record was deleted", |g| {
        [vec![o1(g), gone(2, &[g])], share_up(g)].concat()
    });
    list.add("a commit after a group was deleted, then a streams group", |g| {
        [consumer_up(g), consumer_down(g), vec![o1(g)], streams_up(g)].concat()
    });
    list.add("a topic id of type 24 in a streams group", |g| {
        let value = v(0).i32(5).count(1).ctext("0").count(1).raw(&T).end().end();
        [streams_up(g), vec![kv(24, &[g], value)]].concat()
    });
}
