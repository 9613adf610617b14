//! Writes records of every kind of group, and commits, for crafted partitions.
//!
//! Values are written field by field as reference texts give them, not by the program's own schemas.

#![allow(dead_code, reason = "helpers, of which no test uses all")]

use super::build::{Bat, Ending, Rec, T0, commit};
use grouplog::bytes::put_uvarint;

/// Fields, one behind the other.
#[derive(Clone, Default)]
pub struct W(pub Vec<u8>);

impl W {
    pub fn i8(mut self, n: i8) -> W {
        self.0.extend(n.to_be_bytes());
        self
    }
    pub fn i16(mut self, n: i16) -> W {
        self.0.extend(n.to_be_bytes());
        self
    }
    pub fn i32(mut self, n: i32) -> W {
        self.0.extend(n.to_be_bytes());
        self
    }
    pub fn i64(mut self, n: i64) -> W {
        self.0.extend(n.to_be_bytes());
        self
    }
    pub fn raw(mut self, bytes: &[u8]) -> W {
        self.0.extend(bytes);
        self
    }
    pub fn uv(mut self, n: u32) -> W {
        put_uvarint(&mut self.0, n);
        self
    }
    /// A string of a value that is not flexible, or of a key.
    pub fn text(self, text: &str) -> W {
        self.i16(text.len() as i16).raw(text.as_bytes())
    }
    /// A string of a flexible value.
    pub fn ctext(self, text: &str) -> W {
        self.uv(text.len() as u32 + 1).raw(text.as_bytes())
    }
    pub fn null(self) -> W {
        self.uv(0)
    }
    /// The count of an array of a flexible value.
    pub fn count(self, n: usize) -> W {
        self.uv(n as u32 + 1)
    }
    pub fn ints(self, ints: &[i32]) -> W {
        ints.iter().fold(self.count(ints.len()), |w, n| w.i32(*n))
    }
    /// No tagged fields.
    pub fn end(self) -> W {
        self.uv(0)
    }
    pub fn done(self) -> Option<Vec<u8>> {
        Some(self.0)
    }
}

pub fn v(version: i16) -> W {
    W::default().i16(version)
}

/// A topic's id.
pub const T: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
/// Another one's.
pub const U: [u8; 16] = [2; 16];

pub type Topics<'t> = &'t [([u8; 16], &'t [i32])];

pub fn topics(w: W, topics: Topics<'_>) -> W {
    topics.iter().fold(w.count(topics.len()), |w, (id, partitions)| w.raw(id).ints(partitions).end())
}

pub type Tasks<'t> = &'t [(&'t str, &'t [i32])];

pub fn tasks(w: W, tasks: Tasks<'_>) -> W {
    tasks.iter().fold(w.count(tasks.len()), |w, (id, partitions)| w.ctext(id).ints(partitions).end())
}

/// A record's key and value.
pub type Kv = (Option<Vec<u8>>, Option<Vec<u8>>);

pub fn key(number: i16, names: &[&str]) -> Vec<u8> {
    names.iter().fold(v(number), |w, name| w.text(name)).0
}

/// Of a group and member, or of both for some other type.
pub fn kv(number: i16, names: &[&str], value: W) -> Kv {
    (Some(key(number, names)), value.done())
}

pub fn gone(number: i16, names: &[&str]) -> Kv {
    (Some(key(number, names)), None)
}

// Consumer groups, by type.
pub fn c3(g: &str) -> Kv {
    kv(3, &[g], v(0).i32(5).end())
}
pub fn c4(g: &str, id: &[u8; 16], name: &str, partitions: i32) -> Kv {
    kv(4, &[g], v(0).count(1).raw(id).ctext(name).i32(partitions).count(0).end().end())
}
pub fn c5(g: &str, m: &str) -> Kv {
    let value = v(0).null().null().ctext("c").ctext("/h").count(1).ctext("orders").null().i32(300_000).null();
    kv(5, &[g, m], value.end())
}
pub fn c6(g: &str) -> Kv {
    kv(6, &[g], v(0).i32(5).end())
}
pub fn c7(g: &str, m: &str, target: Topics<'_>) -> Kv {
    kv(7, &[g, m], topics(v(0), target).end())
}
pub fn c8(g: &str, m: &str, epoch: i32, assigned: Topics<'_>, pending: Topics<'_>) -> Kv {
    let value = v(0).i32(epoch).i32(epoch.wrapping_sub(1)).i8(0);
    kv(8, &[g, m], topics(topics(value, assigned), pending).end())
}
pub fn c16(g: &str) -> Kv {
    kv(16, &[g, "ord.*"], v(0).count(1).ctext("orders").i64(1).i64(T0).end())
}

// Share groups.
pub fn s9(g: &str) -> Kv {
    let (_, value) = c4(g, &T, "orders", 3);
    (Some(key(9, &[g])), value)
}
pub fn s10(g: &str, m: &str) -> Kv {
    kv(10, &[g, m], v(0).null().ctext("c").ctext("/h").count(1).ctext("orders").end())
}
pub fn s11(g: &str) -> Kv {
    kv(11, &[g], v(0).i32(5).i64(7).end())
}
pub fn s12(g: &str) -> Kv {
    kv(12, &[g], v(0).i32(5).end())
}
pub fn s13(g: &str, m: &str, target: Topics<'_>) -> Kv {
    kv(13, &[g, m], topics(v(0), target).end())
}
pub fn s14(g: &str, m: &str, epoch: i32, assigned: Topics<'_>) -> Kv {
    kv(14, &[g, m], topics(v(0).i32(epoch).i32(epoch.wrapping_sub(1)).i8(0), assigned).end())
}
/// In the shape of 4.1: what is being set up, what is set up, what is being removed.
pub fn s15(g: &str, initialized: &[[u8; 16]]) -> Kv {
    let each = |w: W, id: &[u8; 16]| w.raw(id).ctext("orders").ints(&[0]).end();
    let value = initialized.iter().fold(v(0).count(0).count(initialized.len()), each);
    kv(15, &[g], value.count(0).end())
}

// Streams groups.
pub fn t17(g: &str) -> Kv {
    kv(17, &[g], v(0).i32(5).i64(7).end())
}
pub fn t19(g: &str, m: &str, process: &str, tags: &[&str]) -> Kv {
    let value = v(0).null().null().ctext("c").ctext("/h").i32(300_000).i32(0).ctext(process).i8(-1);
    let value = tags.iter().fold(value.count(tags.len()), |w, tag| w.ctext(tag).ctext("x").end());
    kv(19, &[g, m], value.end())
}
pub fn t20(g: &str) -> Kv {
    kv(20, &[g], v(0).i32(5).end())
}
pub fn t21(g: &str, m: &str, active: Tasks<'_>) -> Kv {
    kv(21, &[g, m], tasks(v(0), active).count(0).count(0).end())
}
pub fn t22(g: &str, m: &str, epoch: i32, active: Tasks<'_>) -> Kv {
    let value = tasks(v(0).i32(epoch).i32(epoch.wrapping_sub(1)).i8(1), active);
    kv(22, &[g, m], value.count(0).count(0).count(0).count(0).count(0).end())
}
pub fn t23(g: &str, subtopologies: &[&str]) -> Kv {
    let each =
        |w: W, id: &&str| w.ctext(id).count(1).ctext("orders").count(0).count(0).count(0).count(0).count(0).end();
    let value = subtopologies.iter().fold(v(0).i32(1).count(subtopologies.len()), each);
    kv(23, &[g], value.end())
}

/// A member of a classic group: its id, its instance id, its subscription.
pub type ClassicMember<'m> = (&'m str, Option<&'m str>, &'m [u8]);

/// The value of a classic group, version 3.
pub fn classic(protocol_type: &str, protocol: Option<&str>, members: &[ClassicMember<'_>]) -> W {
    let value = v(3).text(protocol_type).i32(7);
    let value = match protocol {
        Some(name) => value.text(name).text("m1"),
        None => value.i16(-1).i16(-1),
    };
    members.iter().fold(value.i64(T0).i32(members.len() as i32), |w, (id, instance, subscription)| {
        let w = w.text(id);
        let w = instance.map_or_else(|| w.clone().i16(-1), |instance| w.clone().text(instance));
        let w = w.text("c").text("/h").i32(60_000).i32(30_000).i32(subscription.len() as i32).raw(subscription);
        w.i32(0)
    })
}
/// With sound members.
pub fn k2(g: &str, members: &[ClassicMember<'_>]) -> Kv {
    kv(2, &[g], classic("consumer", Some("range"), members))
}
/// A subscription to `orders`.
pub fn subscription() -> Vec<u8> {
    W::default().i16(0).i32(1).text("orders").i32(-1).0
}
/// One member whose subscription is these bytes.
pub fn with_subscription(g: &str, protocol_type: &str, bytes: &[u8]) -> Kv {
    kv(2, &[g], classic(protocol_type, Some("range"), &[("m1", None, bytes)]))
}

/// A commit of the group, value version 3.
pub fn o1(g: &str) -> Kv {
    let record = commit(0, g, "orders", 0, 42);
    (record.key, record.value)
}
pub fn o1_with(g: &str, value: W) -> Kv {
    (commit(0, g, "orders", 0, 42).key, value.done())
}
pub fn o0_with(g: &str, value: W) -> Kv {
    (Some(v(0).text(g).text("orders").i32(0).0), value.done())
}
/// Version 4 without its tagged fields.
pub fn v4(version: i16) -> W {
    v(version).i64(42).i32(-1).ctext("").i64(T0)
}

/// A batch each.
pub fn plain(records: Vec<Kv>) -> Vec<Bat> {
    records.into_iter().map(|kv| Bat::of(vec![record(kv)])).collect()
}

pub fn record((key, value): Kv) -> Rec {
    Rec { offset: 0, timestamp: T0, key, value }
}

pub fn transactional(producer_id: i64, records: Vec<Kv>) -> Vec<Bat> {
    let batch = |(n, kv)| Bat { base_sequence: n, ..Bat::transactional(producer_id, 0, vec![record(kv)]) };
    (0..).zip(records).map(batch).collect()
}

pub fn marker(ending: Ending, producer_id: i64) -> Vec<Bat> {
    vec![Bat::marker(ending, 0, T0, producer_id, 0)]
}

/// All tombstones of a consumer group with one member, in the order in which a broker writes them.
pub fn consumer_down(g: &str) -> Vec<Kv> {
    vec![gone(8, &[g, "m1"]), gone(7, &[g, "m1"]), gone(5, &[g, "m1"]), gone(6, &[g]), gone(4, &[g]), gone(3, &[g])]
}
pub fn consumer_up(g: &str) -> Vec<Kv> {
    vec![c5(g, "m1"), c3(g), c7(g, "m1", &[(T, &[0])]), c6(g), c8(g, "m1", 5, &[(T, &[0])], &[])]
}
pub fn share_down(g: &str) -> Vec<Kv> {
    vec![gone(14, &[g, "m1"]), gone(13, &[g, "m1"]), gone(10, &[g, "m1"]), gone(12, &[g]), gone(11, &[g])]
}
pub fn share_up(g: &str) -> Vec<Kv> {
    vec![s10(g, "m1"), s11(g), s13(g, "m1", &[(T, &[0])]), s12(g), s14(g, "m1", 5, &[(T, &[0])])]
}
pub fn streams_down(g: &str) -> Vec<Kv> {
    let [m22, m21, m19] = [22, 21, 19].map(|number| gone(number, &[g, "m1"]));
    vec![m22, m21, m19, gone(20, &[g]), gone(23, &[g]), gone(17, &[g])]
}
pub fn streams_up(g: &str) -> Vec<Kv> {
    let active: Tasks<'_> = &[("0", &[0])];
    let (target, current) = (t21(g, "m1", active), t22(g, "m1", 5, active));
    vec![t19(g, "m1", "p1", &[]), t17(g), t23(g, &["0"]), target, t20(g), current]
}
