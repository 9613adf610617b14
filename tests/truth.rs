//! `describe` against what the brokers that wrote the logs said about their groups: `truth.json` of every exhibit.
//!
//! Every difference that is not in `all_known` fails, and so does an entry there that explains nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::Exhibit;
use common::facts::{self, Counts, Difference};
use common::told::{Names, Told, describe, described};
use serde_json::Value;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A difference between log and broker that is right as it is.
struct Known {
    /// The exhibit's name.
    exhibit: &'static str,
    group: &'static str,
    /// As `Difference::what`.
    what: &'static str,
    because: &'static str,
    used: Cell<usize>,
}

const fn known(exhibit: &'static str, group: &'static str, what: &'static str, because: &'static str) -> Known {
    Known { exhibit, group, what, because, used: Cell::new(0) }
}

/// All of them.
fn all_known() -> Vec<Known> {
    let epoch = "2.1-IV0 keeps the leader epoch in memory alone: its value version 2 has no room for it";
    let caught = "a rebalance is never written: the log shows the last finished generation";
    let forgets = "0.10 and 0.11 forget the protocol type of an empty group when they load it; the record has it";
    vec![
        known("museum/2.1.1-ibp-2.1-IV0", "keeper", "offset orders-0: leaderEpoch", epoch),
        known("museum/2.1.1-ibp-2.1-IV0", "keeper", "offset orders-2: leaderEpoch", epoch),
        known("museum/2.1.1-ibp-2.1-IV0", "since-2.1.1", "offset orders-0: leaderEpoch", epoch),
        known("museum/2.1.1-ibp-2.1-IV0", "since-2.1.1", "offset orders-2: leaderEpoch", epoch),
        known("museum/0.10.2.2", "by-RoundRobinAssignor", "protocolType", forgets),
        known("museum/0.10.2.2", "pair", "protocolType", forgets),
        known("museum/0.11.0.3", "by-RoundRobinAssignor", "protocolType", forgets),
        known("museum/0.11.0.3", "by-StickyAssignor", "protocolType", forgets),
        known("museum/0.11.0.3", "pair", "protocolType", forgets),
        known("odd", "g-caught", "state", caught),
        known("odd", "g-caught", "assignor", caught),
        known("odd", "g-caught", "member raw-1eb45ab2-5833-4578-893e-6039110df096", caught),
    ]
}

/// Whose log is compared, where an exhibit has those of several brokers: the others had not all of it.
fn brokers(exhibit: &str) -> Option<&'static [&'static str]> {
    match exhibit {
        "replicas/in-sync" => Some(&["log/broker-1", "log/broker-2", "log/broker-3"]),
        // Broker 2 was down while the others went on.
        "replicas/lagging" => Some(&["log/broker-1", "log/broker-3"]),
        // Broker 2 was elected when the others were down, and is the one that was asked.
        "replicas/diverged" => Some(&["log/broker-2"]),
        _ => None,
    }
}

#[test]
fn describe_says_what_the_broker_said() {
    let known = all_known();
    let (mut total, mut failures) = (Counts::default(), Vec::new());
    let (mut compared, mut helped) = (0, Vec::new());
    for exhibit in common::exhibits() {
        let Some(bytes) = exhibit.text("truth.json") else { continue };
        let truth: Value = serde_json::from_slice(&bytes).unwrap();
        let told = Told::of(&truth);
        for log in exhibit.log_dirs() {
            if brokers(&exhibit.name).is_some_and(|some| !some.contains(&log.as_str())) {
                continue;
            }
            compared += 1;
            let (ours, names) = described(&exhibit.dir.join(&log), &told, &[]);
            if names == Names::Truth {
                helped.push(format!("{} {log}", exhibit.name));
            }
            let (differences, counts) = facts::compare(&told.facts, &ours);
            total += counts;
            let left = differences.iter().filter(|it| !told.explains(it) && !explained(&known, &exhibit, it));
            failures.extend(left.map(|it| format!("{} {log}: {it}", exhibit.name)));
        }
    }
    println!("compared {compared} logs: {total}");
    println!("names of topics came from truth.json, not from the log: {helped:?}");
    known.iter().for_each(|it| println!("known ({} times): {} {}: {}", it.used.get(), it.exhibit, it.what, it.because));
    assert!(failures.is_empty(), "{} differences:\n{}", failures.len(), failures.join("\n"));
    if common::golden().is_some() {
        let unused: Vec<_> = known.iter().filter(|it| it.used.get() == 0).map(|it| (it.exhibit, it.what)).collect();
        assert!(unused.is_empty(), "these explain nothing: {unused:?}");
        assert!(total.groups > 700 && total.members > 150 && total.offsets > 3000, "too little was compared: {total}");
    }
}

fn explained(known: &[Known], exhibit: &Exhibit, difference: &Difference) -> bool {
    let fits = |it: &&Known| {
        (it.exhibit, it.group, it.what) == (exhibit.name.as_str(), difference.group.as_str(), difference.what.as_str())
    };
    let Some(found) = known.iter().find(fits) else { return false };
    found.used.set(found.used.get() + 1);
    true
}

/// The partitions' open transactions: producer, epoch, and the offset at which the last stable offset stops.
type Open = BTreeMap<(i64, i64), (i64, i64)>;

#[test]
fn what_waits_belongs_to_the_transactions_that_the_broker_calls_open() {
    let (mut partitions, mut transactions) = (0, 0);
    for exhibit in common::exhibits() {
        let Some(bytes) = exhibit.text("truth.json") else { continue };
        let truth: Value = serde_json::from_slice(&bytes).unwrap();
        let Some(asked) = truth["offsetsPartitions"].as_object() else { continue };
        for log in exhibit.log_dirs() {
            if brokers(&exhibit.name).is_some_and(|some| !some.contains(&log.as_str())) {
                continue;
            }
            let open = open_in_truth(&truth);
            assert_eq!(pending(&describe(&exhibit.dir.join(&log), &[])), open, "{} {log}", exhibit.name);
            partitions += asked.len();
            transactions += open.len();
        }
    }
    println!("{partitions} partitions, {transactions} open transactions");
    assert!(partitions >= 30 && transactions >= 2, "{partitions} partitions, {transactions} open transactions");
}

fn open_in_truth(truth: &Value) -> Open {
    let mut open = Open::new();
    for (partition, said) in truth["offsetsPartitions"].as_object().unwrap() {
        let producers = facts::array(&said["producers"]);
        for producer in producers.filter(|it| !it["currentTransactionStartOffset"].is_null()) {
            let number = |name: &str| producer[name].as_i64().unwrap();
            let key = (partition.parse().unwrap(), number("producerId"));
            open.insert(key, (number("producerEpoch"), number("currentTransactionStartOffset")));
        }
        let first = open.iter().filter(|(key, _)| key.0.to_string() == *partition).map(|(_, (_, start))| *start).min();
        assert_eq!(said["lastStable"].as_i64(), first.or(said["end"].as_i64()));
    }
    open
}

/// Of each producer the first commit that waits stands where its transaction began: nothing else is written in one here.
fn pending(groups: &Value) -> Open {
    let mut open = Open::new();
    for group in facts::array(groups) {
        for pending in facts::array(&group["offsets"]).flat_map(|offset| facts::array(&offset["pending"])) {
            let number = |name: &str| pending[name].as_i64().unwrap();
            let key = (group["partition"].as_i64().unwrap(), number("producerId"));
            let at = open.entry(key).or_insert((number("producerEpoch"), i64::MAX));
            at.1 = at.1.min(number("logOffset"));
        }
    }
    open
}

#[test]
fn an_open_transaction_stands_beside_what_is_committed_under_it() {
    let tx = common::exhibits().into_iter().find(|it| it.name == "tx").unwrap();
    let groups = describe(&tx.dir.join("log"), &[]);
    let group = |name: &str| facts::array(&groups).find(|group| group["group"] == name).unwrap();
    // Only pending, in a group that is listed all the same: no committed value.
    let only = &group("t-open-only")["offsets"];
    assert_eq!(only.as_array().unwrap().len(), 1);
    assert!(only[0]["offset"].is_null() && only[0]["leaderEpoch"].is_null() && only[0]["metadata"].is_null());
    assert_eq!(
        (&only[0]["pending"][0]["producerId"], &only[0]["pending"][0]["producerEpoch"]),
        (&11.into(), &0.into())
    );
    // Committed while the transaction of the same key was open: both are shown.
    let both = &group("t-open")["offsets"][0];
    assert_eq!((&both["partition"], &both["offset"]), (&4.into(), &4.into()));
    assert_eq!((&both["pending"][0]["producerId"], &both["pending"][0]["offset"]), (&11.into(), &99.into()));
}
