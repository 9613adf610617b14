//! Exhibits as one broker can hold them all at once: every name its own (`--redact`, with the exhibit as seed), every
//! producer id too, and sessions of classic members so long that nobody times out while we ask.

use super::build::{Bat, Rec, partitions_in, read_segment};
use super::common::{Exhibit, exhibits, names_in};
use super::rewritten::{Rewritten, describe, pattern_of, rewrite};
use grouplog::model::preflight::{Coordinator, preflight};
use grouplog::schema::{Key, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The id that `__consumer_offsets` has in the proof.
pub const TOPIC_ID: &str = "AAECAwQFBgcICQoLDA0ODw";

/// Producer ids of an exhibit begin this far behind those of the one before.
const PRODUCERS: i64 = 1_000_000;

/// A day: longer than any proof.
const SESSION_MS: i32 = 86_400_000;

pub struct Prepared {
    pub name: String,
    pub log: Rewritten,
    pub groups: BTreeSet<String>,
}

pub struct All(pub Vec<Prepared>);

impl All {
    /// Those of fixtures/, or with those of the golden logs.
    pub fn prepare(in_full: bool) -> All {
        let mut all: Vec<Prepared> = Vec::new();
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let mut seen = BTreeSet::new();
        for exhibit in exhibits() {
            let is_there = in_full || exhibit.dir.starts_with(&fixtures);
            if !is_there || !seen.insert(exhibit.name.clone()) {
                continue;
            }
            if let Some(it) = prepared(&exhibit, all.len() as i64) {
                let taken: Vec<_> = all.iter().flat_map(|other| it.groups.intersection(&other.groups)).collect();
                let it = if taken.is_empty() { it } else { it.without(&taken) };
                all.push(it);
            }
        }
        All(all)
    }
}

fn prepared(exhibit: &Exhibit, place: i64) -> Option<Prepared> {
    let log_dir = exhibit.dir.join(&exhibit.log_dirs()[0]);
    let changed = tempfile::tempdir().unwrap();
    let partitions = partitions_in(&log_dir);
    if partitions.is_empty() {
        return None;
    }
    for file in names_in(&log_dir).iter().filter(|name| name.ends_with("-checkpoint")) {
        std::fs::copy(log_dir.join(file), changed.path().join(file)).unwrap();
    }
    for (_, folder) in partitions {
        let to = changed.path().join(folder.file_name().unwrap());
        std::fs::create_dir(&to).unwrap();
        for name in names_in(&folder).iter().filter(|name| name.ends_with(".log")) {
            let bytes: Vec<u8> =
                read_segment(&folder.join(name)).into_iter().flat_map(|it| alone(it, place).bytes()).collect();
            std::fs::write(to.join(name), bytes).unwrap();
        }
    }
    Some(Prepared::of(&exhibit.name, &["--redact", "--seed", &exhibit.name], changed.path()))
}

/// With producers of its own, and long sessions.
fn alone(mut batch: Bat, place: i64) -> Bat {
    if batch.producer_id >= 0 {
        batch.producer_id += place * PRODUCERS;
    }
    if !batch.control {
        batch.records.iter_mut().for_each(be_patient);
    }
    batch
}

fn be_patient(record: &mut Rec) {
    let (Some(key), Some(bytes)) = (&record.key, &record.value) else { return };
    let Ok(key) = Key::decode(key) else { return };
    let Ok(mut value) = key.record_type.decode_value(bytes) else { return };
    match &mut value.data {
        Value::GroupMetadata(group) => group.members.iter_mut().for_each(|it| it.session_timeout = SESSION_MS),
        Value::ConsumerGroupMemberMetadata(member) => match &mut member.classic_member_metadata {
            Some(classic) => classic.session_timeout_ms = SESSION_MS,
            None => return,
        },
        _ => return,
    }
    let mut out = Vec::new();
    value.encode(&mut out);
    record.value = Some(out);
}

impl Prepared {
    fn of(name: &str, options: &[&str], log_dir: &Path) -> Prepared {
        let log = rewrite(options, &[log_dir]);
        assert!(log.code == 0, "{name}: {}", log.said);
        // Some exhibits are copies of one log, whose groups were given other names: they may be merged all the same.
        for (_, folder) in partitions_in(&log.out) {
            let _ = std::fs::remove_file(folder.join("partition.metadata"));
        }
        let groups = describe(&log.out).iter().map(|it| it["group"].as_str().unwrap().to_owned()).collect();
        Prepared { name: name.to_owned(), log, groups }
    }

    /// Short names, and those of signs alone, can be those of another exhibit too: then nobody could tell whose they are.
    fn without(&self, groups: &[&String]) -> Prepared {
        let options: Vec<_> =
            groups.iter().flat_map(|it| ["--drop-group".to_owned(), pattern_of(it.as_bytes())]).collect();
        let options: Vec<_> = options.iter().map(String::as_str).collect();
        Prepared::of(&self.name, &options, &self.log.out)
    }

    /// Whether a coordinator loads every partition of it as it is.
    pub fn loads(&self, coordinator: &str) -> bool {
        let coordinator: Coordinator = coordinator.parse().unwrap();
        partitions_in(&self.log.out).into_iter().all(|(_, folder)| {
            let logs = names_in(&folder).into_iter().filter(|name| name.ends_with(".log"));
            let paths: Vec<PathBuf> = logs.map(|name| folder.join(name)).collect();
            preflight(&paths, &[coordinator], None, 1 << 28, &mut |_| {}).unwrap()[0].loads()
        })
    }
}

/// One log of many, over fifty partitions.
pub fn merged(parts: &[&Prepared], options: &[&str]) -> Rewritten {
    let paths: Vec<&Path> = parts.iter().map(|it| it.log.out.as_path()).collect();
    let merged = rewrite(&[&["--partitions", "50", "--topic-id", TOPIC_ID], options].concat(), &paths);
    // A type that a release would not load need not be in any of the logs: that is told, and no fault.
    let told = if options.contains(&"--drop-type") { 3 } else { 0 };
    assert!(merged.code == 0 || merged.code == told, "{}", merged.said);
    merged
}
