//! `txns`: what Kafka's own tools said of real logs, field cases, damage and markers that nobody knows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;

use build::{Bat, Ending, T0};
use common::grouplog;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MINUTE: i64 = 60_000;

/// Status, stdout, stderr.
fn txns(args: &[&str], path: &Path) -> (i32, String, String) {
    let mut all = vec!["txns"];
    all.extend(args);
    let path = path.display().to_string();
    all.push(&path);
    let output = grouplog(Path::new("."), all);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn lines(args: &[&str], path: &Path) -> (i32, Vec<Value>) {
    let (code, stdout, _) = txns(&[&["--format", "jsonl"], args].concat(), path);
    (code, stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn document(args: &[&str], path: &Path) -> Value {
    serde_json::from_str(&txns(&[&["--format", "json"], args].concat(), path).1).unwrap()
}

/// State, producer, first offset, last offset, marker.
type Brief = (String, i64, Option<i64>, Option<i64>, Option<i64>);

fn brief(it: &Value) -> Brief {
    let number = |name: &str| it[name].as_i64();
    let state = it["state"].as_str().unwrap().to_owned();
    (state, number("producerId").unwrap(), number("firstOffset"), number("lastOffset"), number("markerOffset"))
}

fn briefs(all: &[Value]) -> Vec<Brief> {
    all.iter().map(brief).collect()
}

fn row(state: &str, producer: i64, at: [i64; 3]) -> Brief {
    let known = |offset: i64| (offset >= 0).then_some(offset);
    (state.to_owned(), producer, known(at[0]), known(at[1]), known(at[2]))
}

fn commit(offset: i64, producer: i64, epoch: i16) -> Bat {
    Bat::transactional(producer, epoch, vec![build::commit(offset, "g", "t", 0, offset)])
}

fn marker(ending: Ending, offset: i64, producer: i64, epoch: i16) -> Bat {
    Bat::marker(ending, offset, T0 + offset, producer, epoch)
}

fn plain(offset: i64) -> Bat {
    Bat::of(vec![build::commit(offset, "plain", "t", 0, offset)])
}

/// A log of one segment, from the bytes of its batches.
fn write(dir: &Path, bytes: &[Vec<u8>]) -> PathBuf {
    let folder = dir.join("__consumer_offsets-3");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(build::segment_name(0)), bytes.concat()).unwrap();
    folder
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// The base offset is not covered by the CRC.
fn at(offset: i64, mut batch: Vec<u8>) -> Vec<u8> {
    batch[..8].copy_from_slice(&offset.to_be_bytes());
    batch
}

const GV7: &str = "00000000000000030000006300000000020578bec50010000000000000018bcfe568000000018bcfe5680000000000000003e80\
                   00300000000000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000\
                   018bcfe5680000";
const GV8: &str = "00000000000000040000004200000000024a3ea0080030000000000000018bcfe568000000018bcfe5680000000000000003e80\
                   004ffffffff000000012000000008000000010c00000000000500";

// What Kafka said.

/// The log dirs of exhibits of which a broker said where each partition ends and what producers it knows.
fn told_by_brokers() -> Vec<(String, PathBuf, Value)> {
    let exhibits = common::exhibits().into_iter().filter_map(|exhibit| {
        let truth: Value = serde_json::from_slice(&exhibit.text("truth.json")?).unwrap();
        truth["offsetsPartitions"].as_object()?;
        let log = exhibit.dir.join("log");
        log.join("meta.properties").exists().then_some((exhibit.name, log, truth))
    });
    exhibits.collect()
}

#[test]
fn the_last_stable_offset_is_the_brokers() {
    let mut compared = 0;
    for (name, log, truth) in told_by_brokers() {
        let found = document(&["--now", "0"], &log);
        for (number, said) in truth["offsetsPartitions"].as_object().unwrap() {
            let ours = found["partitions"]
                .as_array()
                .unwrap()
                .iter()
                .find(|it| it["partition"] == number.parse::<i64>().unwrap());
            let Some(ours) = ours else { panic!("{name} {number}: not there") };
            assert_eq!(ours["lastStableOffset"], said["lastStable"], "{name} {number}");
            assert_eq!(ours["endOffset"], said["end"], "{name} {number}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared}");
}

/// Rows of `describe-producers` by partition, as numbers; None is -1.
fn described(text: &str) -> BTreeMap<i64, Vec<Vec<i64>>> {
    let mut all: BTreeMap<i64, Vec<Vec<i64>>> = BTreeMap::new();
    let mut partition = None;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let number = command.split("describe-producers --topic __consumer_offsets --partition ").nth(1);
            partition = number.map(|number| number.trim().parse().unwrap());
            continue;
        }
        let number = |cell: &str| if cell == "None" { -1 } else { cell.parse().unwrap() };
        if let Some(partition) = partition.filter(|_| !line.starts_with("ProducerId")) {
            all.entry(partition).or_default().push(line.split_whitespace().map(number).collect());
        }
    }
    all.values_mut().for_each(|rows| rows.sort());
    all
}

#[test]
fn producers_are_those_that_kafka_described() {
    let exhibits = common::exhibits();
    let mut compared = 0;
    for exhibit in exhibits.iter().filter(|it| it.name.rsplit('/').next() == Some("tx")) {
        let text = String::from_utf8(exhibit.text("transactions.txt").unwrap()).unwrap();
        let mut ours: BTreeMap<i64, Vec<Vec<i64>>> = BTreeMap::new();
        let log = exhibit.dir.join("log");
        for it in lines(&["--producers", "--now", "0"], &log).1 {
            let number = |name: &str| it[name].as_i64().unwrap_or(-1);
            let row = ["producerId", "producerEpoch", "latestCoordinatorEpoch", "lastSequence", "lastTimestamp"];
            let mut row: Vec<_> = row.into_iter().map(number).collect();
            row.push(number("currentTransactionStartOffset"));
            ours.entry(number("partition")).or_default().push(row);
        }
        assert_eq!(ours, described(&text), "{}", exhibit.name);
        compared += ours.values().map(Vec::len).sum::<usize>();
        // And the one that is open is the one that the tool listed as ongoing.
        let (_, open) = lines(&["--open", "--now", "0"], &log);
        let open: Vec<_> = open.iter().map(|it| (it["partition"].as_i64().unwrap(), brief(it))).collect();
        assert_eq!(open, [(1, row("open", 11, [16, 16, -1])), (2, row("open", 11, [0, 0, -1]))], "{}", exhibit.name);
        assert!(text.contains("tx-open        \t1          \t11        \tOngoing"), "{text}");
    }
    assert!(compared >= 9, "{compared}");
}

/// Every end marker that Kafka's dump tool shows ends one transaction, and every transactional batch is in one.
#[test]
fn each_marker_of_the_dump_ends_a_transaction() {
    let mut compared = 0;
    for exhibit in common::exhibits() {
        let Some(text) = exhibit.text("dump-log-offsets.txt") else { continue };
        let text = String::from_utf8_lossy(&text);
        if exhibit.log_dirs() != ["log"] || !text.contains("endTxnMarker") {
            continue;
        }
        let (_, all) = lines(&["--now", "0"], &exhibit.dir.join("log"));
        let mut ours: Vec<_> = all
            .iter()
            .filter_map(|it| {
                let word = match it["state"].as_str().unwrap() {
                    "committed" => "COMMIT",
                    "aborted" => "ABORT",
                    _ => return None,
                };
                Some((it["partition"].as_i64()?, it["markerOffset"].as_i64()?, word.to_owned()))
            })
            .collect();
        ours.sort();
        let mut theirs = Vec::new();
        let mut partition = None;
        for line in text.lines() {
            if let Some((_, rest)) = line.split_once("Dumping ").filter(|(before, _)| before.is_empty()) {
                let number = rest.split_once("__consumer_offsets-").map(|(_, rest)| rest.split_once('/').unwrap().0);
                partition = number.map(|number| number.parse::<i64>().unwrap());
            }
            let Some((before, marker)) = line.split_once(" endTxnMarker: ") else { continue };
            let offset = before.strip_prefix("| offset: ").unwrap().split(' ').next().unwrap().parse().unwrap();
            theirs.push((partition.unwrap(), offset, marker.split(' ').next().unwrap().to_owned()));
        }
        theirs.sort();
        assert_eq!(ours, theirs, "{}", exhibit.name);
        compared += theirs.len();
    }
    assert!(compared > 60, "{compared}");
}

/// Files beside real logs agree with them, and know every aborted transaction of which records are left.
#[test]
fn indexes_of_real_logs_know_what_was_aborted() {
    let (mut known, mut entries) = (0, 0);
    for exhibit in common::exhibits() {
        for log in exhibit.log_dirs() {
            let found = document(&["--now", "0"], &exhibit.dir.join(&log));
            for partition in found["partitions"].as_array().unwrap() {
                assert_eq!(partition["sideFiles"]["agree"], true, "{}: {partition}", exhibit.name);
                entries += partition["sideFiles"]["txnIndexEntries"].as_u64().unwrap();
                for it in partition["transactions"].as_array().unwrap() {
                    if let Some(is) = it["inTxnIndex"].as_bool() {
                        assert!(is, "{} {it}", exhibit.name);
                        known += 1;
                    }
                }
            }
        }
    }
    assert!(known > 10 && entries >= known, "{known} of {entries}");
}

// Field cases.

/// C05: a transactional commit, 10 000 plain ones, no end; then the same with its end.
#[test]
fn a_hanging_transaction_and_the_same_one_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes: Vec<_> = (0..3).map(|i| plain(i).bytes()).collect();
    bytes.push(hex(GV7));
    bytes.extend((4..10_004).map(|i| plain(i).bytes()));
    let behind: usize = bytes[3..].iter().map(Vec::len).sum();
    let folder = write(&dir.path().join("hanging"), &bytes);
    let now = (T0 + 16 * MINUTE).to_string();
    let (code, all) = lines(&["--now", &now], &folder);
    assert_eq!(code, 3);
    assert_eq!(briefs(&all), [row("open", 1000, [3, 3, -1])]);
    let it = &all[0];
    assert_eq!((&it["producerEpoch"], &it["coordinatorEpoch"]), (&json!(3), &Value::Null));
    assert_eq!((&it["groups"], &it["keys"], &it["partition"]), (&json!(["my-group"]), &json!(1), &json!(3)));
    assert_eq!(it["pinnedBytes"], behind);
    assert_eq!((&it["hanging"], &it["ageMs"]), (&json!(true), &json!(16 * MINUTE)));
    assert_eq!(it["touched"], json!([{"group": "my-group", "topic": "t", "partition": 0}]));
    let command =
        "kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic __consumer_offsets --partition 3 ";
    assert_eq!(it["abortCommand"], format!("{command}--start-offset 3"));
    let old = format!("{command}--producer-id 1000 --producer-epoch 3 --coordinator-epoch 0");
    assert_eq!(it["abortCommandBefore30"], old);
    let told = document(&["--now", &now], &folder);
    let partition = &told["partitions"][0];
    assert_eq!((&partition["lastStableOffset"], &partition["endOffset"]), (&json!(3), &json!(10_004)));
    assert_eq!((&partition["pinnedBytes"], &partition["hanging"]), (&json!(behind), &json!(1)));
    let (code, text, said) = txns(&["--now", &now], &folder);
    assert_eq!(code, 3);
    for words in [
        "hanging: partition 3, producer 1000, epoch 3, offsets 3 to 3, for 16 min",
        "group my-group, topic t, partition 0",
        "--start-offset 3",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(said.contains("1 transaction hanging"), "{said}");

    bytes.push(at(10_004, hex(GV8)));
    let folder = write(&dir.path().join("ended"), &bytes);
    let (code, all) = lines(&["--now", &now], &folder);
    assert_eq!((code, briefs(&all)), (0, vec![row("committed", 1000, [3, 3, 10_004])]));
    let it = &all[0];
    assert_eq!((&it["producerEpoch"], &it["markerEpoch"], &it["coordinatorEpoch"]), (&json!(3), &json!(4), &json!(5)));
    assert_eq!((&it["pinnedBytes"], it.get("abortCommand")), (&json!(0), None));
    let partition = &document(&["--now", &now], &folder)["partitions"][0];
    assert_eq!((&partition["lastStableOffset"], &partition["endOffset"]), (&json!(10_005), &json!(10_005)));
}

#[test]
fn it_hangs_once_no_producer_may_be_that_slow() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 3, &[commit(0, 7, 0), plain(1)]);
    for (millis, timeout, code) in
        [(15 * MINUTE, "15m", 0), (15 * MINUTE + 1, "15m", 3), (15 * MINUTE + 1, "1h", 0), (1, "0s", 3)]
    {
        let now = (T0 + millis).to_string();
        let (status, all) = lines(&["--hanging", "--now", &now, "--max-transaction-timeout", timeout], &folder);
        assert_eq!((status, all.len()), (code, usize::from(code == 3)), "{millis} {timeout}");
        let (status, all) = lines(&["--open", "--now", &now, "--max-transaction-timeout", timeout], &folder);
        assert_eq!((status, all.len(), &all[0]["hanging"]), (code, 1, &json!(code == 3)));
    }
}

/// C23: committed 5, aborted 9, pending 11.
#[test]
fn committed_aborted_and_pending_are_three_things() {
    let dir = tempfile::tempdir().unwrap();
    let in_transaction = |at, offset| Bat::transactional(7, 2, vec![build::commit(at, "g", "t", 0, offset)]);
    let batches = [
        Bat::of(vec![build::commit(0, "g", "t", 0, 5)]),
        in_transaction(1, 9),
        marker(Ending::Abort, 2, 7, 2),
        in_transaction(3, 11),
    ];
    let folder = build::write_log(dir.path(), 3, &batches);
    let (_, all) = lines(&["--now", &T0.to_string()], &folder);
    assert_eq!(briefs(&all), [row("aborted", 7, [1, 1, 2]), row("open", 7, [3, 3, -1])]);
    // The coordinator epoch of the marker before is the best that is known for the old command.
    assert_eq!(all[1]["coordinatorEpoch"], 0);
    assert_eq!(document(&[], &folder)["partitions"][0]["lastStableOffset"], 3);
}

/// C47: a coordinator always writes sequence 0; C17: only the control bit makes a marker.
#[test]
fn sequence_zero_again_and_again_and_keys_like_markers() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = Vec::new();
    for i in 0..100 {
        batches.push(commit(3 * i, 5, 0));
        let mut like_a_marker = build::commit(3 * i + 1, "g", "t", 0, 1);
        like_a_marker.key = Some(vec![0, 0, 0, 1]);
        batches.push(Bat::of(vec![like_a_marker]));
        batches.push(marker(Ending::Commit, 3 * i + 2, 5, 0));
    }
    let folder = build::write_log(dir.path(), 3, &batches);
    let (code, all) = lines(&["--now", "0"], &folder);
    let expected: Vec<_> = (0..100).map(|i| row("committed", 5, [3 * i, 3 * i, 3 * i + 2])).collect();
    assert_eq!((code, briefs(&all)), (0, expected));
}

#[test]
fn transactions_stand_in_the_order_in_which_they_begin() {
    let dir = tempfile::tempdir().unwrap();
    let two = |at: i64, producer| {
        let records = vec![
            build::commit(at, "a", "t", 0, 1),
            build::commit(at + 1, "b", "t", 0, 1),
            build::forget(at + 2, "a", "t", 0),
        ];
        Bat::transactional(producer, 0, records)
    };
    let batches = [
        two(0, 1),
        two(3, 2),
        commit(6, 1, 0),
        marker(Ending::Commit, 7, 2, 0),
        marker(Ending::Abort, 8, 1, 0),
        // Only the marker is left of this one.
        marker(Ending::Commit, 9, 4, 0),
        // The cleaner emptied this one: it ended nothing that a broker would know of.
        Bat { control: true, ..Bat::empty(10, 10, 3, 0) },
    ];
    let folder = build::write_log(dir.path(), 3, &batches);
    let (_, all) = lines(&["--now", "0"], &folder);
    let expected = [row("aborted", 1, [0, 6, 8]), row("committed", 2, [3, 5, 7]), row("committed", 4, [-1, -1, 9])];
    assert_eq!(briefs(&all), expected);
    assert_eq!(
        (&all[0]["groups"], &all[0]["keys"], &all[0]["records"]),
        (&json!(["a", "b", "g"]), &json!(3), &json!(4))
    );
    let told = &document(&[], &folder)["partitions"][0];
    assert_eq!((&told["committed"], &told["aborted"], &told["onlyMarker"]), (&json!(2), &json!(1), &json!(1)));
    // By group and by producer.
    let chosen = |args: &[&str]| lines(&[&["--now", "0"], args].concat(), &folder).1.len();
    assert_eq!((chosen(&["--group", "g"]), chosen(&["--group", "?"]), chosen(&["--group", "x"])), (1, 2, 0));
    assert_eq!((chosen(&["--producer-id", "2"]), chosen(&["--producer-id", "2", "--producer-id", "4"])), (1, 2));
    // In the table the last ones only, if so many are asked for; all are counted.
    let (_, text, _) = txns(&["--now", "0", "--last", "1"], &folder);
    assert!(text.starts_with("1 partition: 0 open (0 hanging), 2 committed, 1 aborted, 0 unknown\n"), "{text}");
    let shown = text.lines().filter(|line| line.contains(" committed ") || line.contains(" aborted ")).count();
    assert_eq!(shown, 1, "{text}");
    let (_, csv, _) = txns(&["--now", "0", "--format", "csv"], &folder);
    assert_eq!(csv.lines().count(), 4);
    assert!(csv.starts_with("partition,state,producer,epoch,"), "{csv}");
}

/// Transactional batches without records, and idempotent ones outside of transactions.
#[test]
fn what_a_broker_takes_for_open() {
    let dir = tempfile::tempdir().unwrap();
    let idempotent = Bat { transactional: false, ..commit(0, 9, 0) };
    let folder = build::write_log(dir.path(), 3, &[idempotent, plain(1), Bat::empty(2, 4, 8, 1)]);
    let (_, all) = lines(&["--now", &T0.to_string()], &folder);
    // A broker that reads the log anew begins a transaction with any batch that has the bit.
    assert_eq!(briefs(&all), [row("open", 8, [2, 4, -1])]);
    assert_eq!(all[0]["records"], 0);
}

#[test]
fn below_the_log_start_nothing_counts() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [commit(0, 1, 0), commit(1, 2, 0), marker(Ending::Commit, 2, 1, 0), plain(3)];
    let folder = build::write_log(dir.path(), 3, &batches);
    std::fs::write(dir.path().join("log-start-offset-checkpoint"), "0\n1\n__consumer_offsets 3 2\n").unwrap();
    let (_, all) = lines(&["--now", "0"], &folder);
    assert_eq!(briefs(&all), [row("committed", 1, [-1, -1, 2])]);
    let (_, all) = lines(&["--now", "0", "--ignore-log-start"], &folder);
    assert_eq!(briefs(&all), [row("committed", 1, [0, 0, 2]), row("open", 2, [1, 1, -1])]);
}

// Damage, and markers that nobody knows.

fn broken(batch: &Bat) -> Vec<u8> {
    let mut bytes = batch.bytes();
    let last = bytes.len() - 1;
    bytes[last] ^= 0x55;
    bytes
}

#[test]
fn a_damaged_marker_ends_nobody_knows_how() {
    let dir = tempfile::tempdir().unwrap();
    let lost = broken(&marker(Ending::Commit, 1, 7, 0));
    let mut bytes =
        vec![commit(0, 7, 0).bytes(), lost, commit(2, 7, 0).bytes(), marker(Ending::Abort, 3, 7, 0).bytes()];
    let folder = write(&dir.path().join("a"), &bytes);
    let (code, all) = lines(&["--now", "0"], &folder);
    assert_eq!((code, briefs(&all)), (3, vec![row("unknown", 7, [0, 0, 1]), row("aborted", 7, [2, 2, 3])]));
    assert_eq!(all[0]["doubt"]["code"], "marker-damaged");
    let told = &document(&[], &folder)["partitions"][0];
    assert_eq!((&told["unknown"], &told["lastStableOffset"], &told["damaged"]), (&json!(1), &json!(4), &json!(1)));
    // With nothing behind it the same.
    bytes.truncate(2);
    let (code, all) = lines(&["--now", "0"], &write(&dir.path().join("b"), &bytes));
    assert_eq!((code, briefs(&all)), (3, vec![row("unknown", 7, [0, 0, 1])]));
}

#[test]
fn a_hole_may_have_held_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let zeros = vec![0; 500];
    let open = [commit(0, 7, 0).bytes(), zeros.clone(), plain(5).bytes()];
    let (code, all) = lines(&["--now", &T0.to_string()], &write(&dir.path().join("a"), &open));
    assert_eq!((code, briefs(&all)), (3, vec![row("unknown", 7, [0, 0, -1])]));
    assert_eq!((&all[0]["doubt"]["code"], &all[0]["hanging"]), (&json!("marker-may-be-lost"), &json!(false)));
    // It may still be open: so it is among those, and it hangs if it does.
    let (_, all) =
        lines(&["--hanging", "--now", &(T0 + 20 * MINUTE).to_string()], &dir.path().join("a/__consumer_offsets-3"));
    assert_eq!(all.len(), 1);
    // A later epoch only comes once the transaction before has ended; the same one may go on with it.
    for (epoch, expected) in [
        (1, vec![row("unknown", 7, [0, 0, -1]), row("committed", 7, [5, 5, 6])]),
        (0, vec![row("committed", 7, [0, 5, 6])]),
    ] {
        let bytes = [
            commit(0, 7, 0).bytes(),
            zeros.clone(),
            commit(5, 7, epoch).bytes(),
            marker(Ending::Commit, 6, 7, epoch).bytes(),
        ];
        let (_, all) = lines(&["--now", "0"], &write(&dir.path().join(format!("b{epoch}")), &bytes));
        assert_eq!(briefs(&all), expected);
        assert_eq!(all[0]["doubt"]["code"], "marker-may-be-lost");
    }
}

#[test]
fn damage_that_says_nothing_of_it_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let now = T0.to_string();
    let open = vec![row("open", 7, [0, 0, -1])];
    // A plain batch.
    let bytes = [commit(0, 7, 0).bytes(), broken(&plain(1)), plain(2).bytes()];
    let (code, all) = lines(&["--now", &now], &write(&dir.path().join("a"), &bytes));
    assert_eq!((code, briefs(&all), all[0].get("doubt")), (3, open.clone(), None));
    // A write that was cut at the end, and zeros behind it: a broker takes both away when it starts.
    let mut torn = plain(1).bytes();
    torn.truncate(70);
    for (i, tail) in [torn, vec![0; 4096]].into_iter().enumerate() {
        let (code, all) =
            lines(&["--now", &now], &write(&dir.path().join(format!("b{i}")), &[commit(0, 7, 0).bytes(), tail]));
        assert_eq!((code, briefs(&all), all[0].get("doubt")), (0, open.clone(), None));
    }
    // More of its own records.
    let bytes = [commit(0, 7, 0).bytes(), broken(&commit(1, 7, 0)), marker(Ending::Commit, 2, 7, 0).bytes()];
    let (_, all) = lines(&["--now", &now], &write(&dir.path().join("c"), &bytes));
    assert_eq!(briefs(&all), [row("committed", 7, [0, 0, 2])]);
    assert_eq!(all[0]["doubt"]["code"], "records-lost");
}

#[test]
fn a_control_record_that_no_release_knows() {
    let dir = tempfile::tempdir().unwrap();
    let strange = |key: Vec<u8>, value: Option<Vec<u8>>| {
        let mut batch = marker(Ending::Commit, 1, 7, 0);
        batch.records[0].key = Some(key);
        batch.records[0].value = value;
        batch
    };
    let kinds = [
        strange(vec![0, 0, 0, 9], Some(vec![0; 6])),
        strange(vec![0, 0], Some(vec![0; 6])),
        // An end marker without its value.
        strange(vec![0, 0, 0, 1], None),
    ];
    for (i, kind) in kinds.into_iter().enumerate() {
        let folder = build::write_log(&dir.path().join(format!("a{i}")), 3, &[commit(0, 7, 0), kind.clone(), plain(2)]);
        let (code, all) = lines(&["--now", &T0.to_string()], &folder);
        assert_eq!((code, briefs(&all)), (0, vec![row("unknown", 7, [0, 0, 1])]));
        assert_eq!(all[0]["doubt"]["code"], "marker-unknown");
        // A broker of this release would not take it for an end.
        assert_eq!(document(&[], &folder)["partitions"][0]["lastStableOffset"], 0);
        // Then it ends.
        let ended = [commit(0, 7, 0), kind, marker(Ending::Abort, 2, 7, 0)];
        let (_, all) = lines(&["--now", "0"], &build::write_log(&dir.path().join(format!("b{i}")), 3, &ended));
        assert_eq!(briefs(&all), [row("aborted", 7, [0, 0, 2])]);
    }
}

// Files beside the log (C80).

fn txn_index(entries: &[(i64, i64, i64, i64)]) -> Vec<u8> {
    let entry = |(producer, first, last, stable): &(i64, i64, i64, i64)| {
        let mut bytes = vec![0, 0];
        [producer, first, last, stable].iter().for_each(|n| bytes.extend(n.to_be_bytes()));
        bytes
    };
    entries.iter().flat_map(entry).collect()
}

/// A snapshot with one producer, whose transaction is open from an offset (-1: it is not).
fn snapshot(producer: i64, last_offset: i64, open_from: i64) -> Vec<u8> {
    let mut body = 1i32.to_be_bytes().to_vec();
    body.extend(producer.to_be_bytes());
    body.extend(0i16.to_be_bytes());
    body.extend(0i32.to_be_bytes());
    body.extend(last_offset.to_be_bytes());
    body.extend(0i32.to_be_bytes());
    body.extend(T0.to_be_bytes());
    body.extend((-1i32).to_be_bytes());
    body.extend(open_from.to_be_bytes());
    let mut bytes = 1i16.to_be_bytes().to_vec();
    bytes.extend(crc32c::crc32c(&body).to_be_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn what_an_index_should_know() {
    let dir = tempfile::tempdir().unwrap();
    let batches = [commit(0, 7, 0), marker(Ending::Abort, 1, 7, 0), plain(2)];
    let folder = build::write_log(dir.path(), 3, &batches);
    let index = folder.join("00000000000000000000.txnindex");
    let now = ["--now", "0"];
    // Without any index file a broker makes them anew: nobody is to blame.
    let (code, all) = lines(&now, &folder);
    assert_eq!((code, all[0].get("inTxnIndex")), (0, None));
    std::fs::write(&index, txn_index(&[(7, 0, 1, 2)])).unwrap();
    let (code, all) = lines(&now, &folder);
    assert_eq!((code, &all[0]["inTxnIndex"]), (0, &json!(true)));
    for wrong in [vec![], txn_index(&[(8, 0, 1, 2)]), txn_index(&[(7, 0, 1, 2), (7, 40, 50, 51)])] {
        std::fs::write(&index, &wrong).unwrap();
        let (code, _, said) = txns(&now, &folder);
        assert_eq!(code, 3, "{said}");
        assert!(said.contains("txn-index-"), "{said}");
        let told = document(&now, &folder);
        assert_eq!(told["partitions"][0]["sideFiles"]["agree"], false);
        assert!(!told["partitions"][0]["sideFiles"]["findings"].as_array().unwrap().is_empty());
    }
}

#[test]
fn what_a_snapshot_should_know() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 3, &[commit(0, 7, 0), plain(1), plain(2)]);
    let now = T0.to_string();
    let (code, all) = lines(&["--now", &now], &folder);
    assert_eq!((code, all[0].get("inSnapshot")), (0, None));
    for (open_from, known) in [(0, true), (-1, false)] {
        std::fs::write(folder.join("00000000000000000002.snapshot"), snapshot(7, 0, open_from)).unwrap();
        let (code, all) = lines(&["--now", &now], &folder);
        assert_eq!((code, &all[0]["inSnapshot"]), (if known { 0 } else { 3 }, &json!(known)));
    }
    // One from before it began does not have to know.
    std::fs::remove_file(folder.join("00000000000000000002.snapshot")).unwrap();
    std::fs::write(folder.join("00000000000000000000.snapshot"), snapshot(9, -1, -1)).unwrap();
    assert_eq!(lines(&["--now", &now], &folder).1[0].get("inSnapshot"), None);
}

#[test]
fn several_partitions_and_totals_first() {
    let dir = tempfile::tempdir().unwrap();
    build::write_log(dir.path(), 1, &[commit(0, 7, 0), plain(1)]);
    build::write_log(dir.path(), 2, &[plain(0), commit(1, 7, 0), marker(Ending::Commit, 2, 7, 0)]);
    std::fs::write(dir.path().join("meta.properties"), "node.id=1\n").unwrap();
    let now = T0.to_string();
    let (_, text, _) = txns(&["--now", &now], dir.path());
    assert!(text.starts_with("2 partitions: 1 open (0 hanging), 1 committed, 0 aborted, 0 unknown; "), "{text}");
    for threads in ["1", "2"] {
        let told = document(&["--now", &now, "--threads", threads], dir.path());
        assert_eq!((&told["totals"]["open"], &told["totals"]["committed"]), (&json!(1), &json!(1)));
        let numbers: Vec<_> = told["partitions"].as_array().unwrap().iter().map(|it| it["partition"].clone()).collect();
        assert_eq!(numbers, [1, 2]);
    }
}

#[test]
fn the_help_tells_the_exit_status() {
    let output = grouplog(Path::new("."), ["txns", "-h"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Exit status 3 if a transaction hangs"), "{text}");
}

/// What hangs of one group does not concern who asks for another.
#[test]
fn totals_and_status_are_of_what_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let of = |at, group, producer| Bat::transactional(producer, 0, vec![build::commit(at, group, "orders", 0, 1)]);
    let ended = Bat::marker(Ending::Commit, 2, T0, 8, 0);
    let folder = build::write_log(dir.path(), 3, &[of(0, "hangs", 7), of(1, "sound", 8), ended]);
    let now = (T0 + 3_600_000).to_string();
    for (args, status, totals) in [
        (&[][..], 3, [1, 1, 1]),
        (&["--group", "sound"], 0, [0, 0, 1]),
        (&["--group", "hangs"], 3, [1, 1, 0]),
        (&["--producer-id", "8"], 0, [0, 0, 1]),
        (&["--group", "sound", "--hanging"], 0, [0, 0, 1]),
    ] {
        let (found, text, _) = txns(&[&["--now", &now, "--format", "json"], args].concat(), &folder);
        let document: Value = serde_json::from_str(&text).unwrap();
        let sums = ["open", "hanging", "committed"].map(|name| document["totals"][name].as_u64().unwrap());
        assert_eq!((found, sums), (status, totals), "{args:?}");
    }
}

/// A clock that is behind the log's: no age is negative, and whoever reads it is told.
#[test]
fn what_begins_ahead_of_now_has_no_age() {
    let dir = tempfile::tempdir().unwrap();
    let folder = build::write_log(dir.path(), 3, &[commit(0, 7, 0)]);
    for (now, age, ahead, note) in
        [(T0 - 3_600_000, 0, Some(3_600_000), true), (T0 - 60_000, 0, Some(60_000), false), (T0 + 5, 5, None, false)]
    {
        let now = now.to_string();
        let (code, all) = lines(&["--now", &now], &folder);
        assert_eq!((code, &all[0]["ageMs"], all[0]["aheadMs"].as_i64()), (0, &json!(age), ahead));
        let (_, text, said) = txns(&["--now", &now], &folder);
        assert_eq!(said.contains("1 open transaction from ahead of now"), note, "{said}");
        assert_eq!(text.contains("ahead of now"), ahead.is_some(), "{text}");
        let (_, csv, _) = txns(&["--now", &now, "--format", "csv"], &folder);
        assert!(!csv.contains(",-3") && !csv.contains(",-6"), "{csv}");
    }
}

#[test]
fn every_option_has_an_effect_or_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut batches = Vec::new();
    for i in 0..30 {
        batches.extend([commit(2 * i, i % 3, 0), marker(Ending::Commit, 2 * i + 1, i % 3, 0)]);
    }
    batches.push(commit(60, 9, 0));
    let folder = build::write_log(dir.path(), 3, &batches);
    let committed = |args: &[&str]| {
        let text = txns(&[&["--now", &T0.to_string()], args].concat(), &folder).1;
        text.lines().filter(|line| line.contains("committed ") || line.contains(",committed,")).count()
    };
    assert_eq!(committed(&[]), 20);
    assert_eq!(committed(&["--format", "csv"]), 30);
    for format in ["table", "csv"] {
        assert_eq!(committed(&["--last", "2", "--format", format]), 2, "{format}");
        assert_eq!(committed(&["--last", "2", "--group", "g", "--format", format]), 2, "{format}");
        assert_eq!(committed(&["--last", "2", "--producer-id", "1", "--format", format]), 2, "{format}");
        assert_eq!(committed(&["--last", "0", "--format", format]), 0, "{format}");
    }
    let now = T0.to_string();
    // What is open is always there; what is counted is all of it.
    let (_, text, _) = txns(&["--now", &now, "--group", "g", "--last", "2"], &folder);
    assert!(text.starts_with("1 partition: 1 open (0 hanging), 30 committed"), "{text}");
    let producers = |args: &[&str]| lines(&[&["--producers", "--now", &now], args].concat(), &folder).1.len();
    assert_eq!((producers(&[]), producers(&["--producer-id", "9"]), producers(&["--producer-id", "77"])), (4, 1, 0));
    for args in [
        &["--last", "3", "--open"][..],
        &["--last", "3", "--hanging"],
        &["--last", "3", "--producers"],
        &["--producers", "--group", "g"],
        &["--producers", "--group-regex", "g"],
        &["--producers", "--bootstrap-server", "kafka-1:9092"],
    ] {
        assert_eq!(txns(args, &folder).0, 2, "{args:?}");
    }
}

/// The groups of one transaction stand in one cell, parted by blanks.
#[test]
fn a_blank_in_a_name_parts_no_groups() {
    let dir = tempfile::tempdir().unwrap();
    let names = ["a b", "c"];
    let records = names.iter().zip(0..).map(|(group, offset)| build::commit(offset, group, "t", 0, 1)).collect();
    let folder = build::write_log(dir.path(), 0, &[Bat::transactional(7, 0, records)]);
    let (_, csv, _) = txns(&["--now", "0", "--format", "csv"], &folder);
    assert!(csv.lines().nth(1).unwrap().ends_with(",a\\x20b c"), "{csv}");
}
