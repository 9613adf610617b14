//! What is done to the log of all exhibits, and what may differ then.

use super::common::facts::{Difference, Facts, GroupFacts};
use super::common::grouplog;
use super::prepare::Prepared;
use super::rewritten::{Rewritten, describe, rewrite};
use grouplog::model::partitioner::partition_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Another id than that of the input.
const OTHER_TOPIC_ID: &str = "00YQRhQSSde_UAyBnyxN9g";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    Compact,
    Codec,
    Partitions,
    Target,
    Rename,
    TopicId,
    NewCluster,
    Together,
}

/// A new log dir, and what was asked for.
pub struct Applied {
    log_dir: PathBuf,
    pub partitions: i32,
    pub is_compacted: bool,
    /// New names by old.
    groups: BTreeMap<String, String>,
    topics: BTreeMap<String, String>,
    /// Groups of which a record was converted or dropped.
    edited: BTreeSet<String>,
    /// Holds the folder.
    _rewritten: Option<Rewritten>,
    _dir: Option<tempfile::TempDir>,
}

impl Policy {
    pub const ALL: &[Policy] = &[
        Policy::Compact,
        Policy::Codec,
        Policy::Partitions,
        Policy::Target,
        Policy::Rename,
        Policy::TopicId,
        Policy::NewCluster,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Policy::Compact => "compact",
            Policy::Codec => "--codec",
            Policy::Partitions => "--partitions",
            Policy::Target => "--target",
            Policy::Rename => "--rename",
            Policy::TopicId => "--topic-id",
            Policy::NewCluster => "--new-cluster",
            Policy::Together => "together",
        }
    }

    /// Whether what the release refuses is loaded behind it.
    pub fn makes_loadable(self) -> bool {
        matches!(self, Policy::Target | Policy::Together)
    }

    pub fn apply(self, input: &Path, parts: &[&Prepared], release: &str) -> Applied {
        match self {
            Policy::Compact => compacted(input),
            Policy::Codec => rewritten(&["--codec", "zstd", "--upgrade"], input),
            Policy::Partitions => Applied { partitions: 30, ..rewritten(&["--partitions", "30"], input) },
            Policy::Target => rewritten(&["--target", release], input),
            Policy::TopicId => rewritten(&["--topic-id", OTHER_TOPIC_ID, "--segment-bytes", "20000"], input),
            Policy::NewCluster => rewritten(&["--new-cluster", "--topic-id", OTHER_TOPIC_ID], input),
            Policy::Rename => Names::of(input, parts, 50).rewritten(&[], input),
            Policy::Together => {
                let compacted = compacted(input);
                let options =
                    ["--target", release, "--codec", "lz4", "--upgrade", "--topic-id", OTHER_TOPIC_ID, "--partitions"];
                let names = Names::of(input, parts, 20);
                Applied {
                    partitions: 20,
                    is_compacted: true,
                    ..names.rewritten(&[&options[..], &["20"]].concat(), compacted.log_dir())
                }
            }
        }
    }
}

fn compacted(input: &Path) -> Applied {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new");
    let args = ["compact", "--include-active", "--force-past-open-transactions", "--out"].map(PathBuf::from);
    let output = grouplog(Path::new("."), args.into_iter().chain([out.clone(), input.to_owned()]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Applied { is_compacted: true, _dir: Some(dir), ..Applied::nothing(&out) }
}

fn rewritten(options: &[&str], input: &Path) -> Applied {
    let new = rewrite(options, &[input]);
    assert!(new.code == 0, "{}", new.said);
    // A record that names a topic is not one that means something else.
    let is_edit = |edit: &&serde_json::Value| {
        let codes = edit["edits"].as_array().unwrap().iter().map(|it| it["code"].as_str().unwrap());
        codes
            .into_iter()
            .any(|code| !["rename-group", "rename-topic", "topic-id-dropped", "version-4-to-3"].contains(&code))
    };
    let group = |edit: &serde_json::Value| {
        let data = &edit["key"]["data"];
        data["group"].as_str().or(data["groupId"].as_str()).map(str::to_owned)
    };
    let edited = new.edits.iter().filter(is_edit).filter_map(group).collect();
    Applied { edited, ..Applied::nothing(&new.out) }.holding(new)
}

/// A group and a topic of each exhibit, and what they are to be called.
struct Names {
    groups: BTreeMap<String, String>,
    topics: BTreeMap<String, String>,
}

impl Names {
    /// New names hash to where the old ones do.
    fn of(input: &Path, parts: &[&Prepared], partitions: i32) -> Names {
        let said = describe(input);
        let mut names = Names { groups: BTreeMap::new(), topics: BTreeMap::new() };
        for part in parts {
            let all = said.iter().filter(|it| part.groups.contains(it["group"].as_str().unwrap()));
            let with_offsets = all.filter(|it| it["offsets"].as_array().is_some_and(|them| !them.is_empty()));
            let Some(group) = with_offsets.max_by_key(|it| it["members"].as_array().map_or(0, Vec::len)) else {
                continue;
            };
            let old = group["group"].as_str().unwrap();
            let place = |name: &str| partition_of(name.as_bytes(), partitions);
            let new = (0..).map(|i| format!("a-new-name-{i}-of-{old}")).find(|new| place(new) == place(old)).unwrap();
            names.groups.insert(old.to_owned(), new);
            let topic = group["offsets"][0]["topic"].as_str().unwrap();
            names.topics.insert(topic.to_owned(), format!("a-new-name-of-{topic}"));
        }
        assert!(names.groups.len() > 10, "{}", names.groups.len());
        names
    }

    fn rewritten(self, options: &[&str], input: &Path) -> Applied {
        let pair = |option: &str, (old, new): (&String, &String)| [option.to_owned(), format!("{old}={new}")];
        let groups = self.groups.iter().flat_map(|it| pair("--rename-group", it));
        let words: Vec<_> = groups.chain(self.topics.iter().flat_map(|it| pair("--rename-topic", it))).collect();
        let words: Vec<_> = words.iter().map(String::as_str).chain(options.iter().copied()).collect();
        Applied { groups: self.groups, topics: self.topics, ..rewritten(&words, input) }
    }
}

impl Applied {
    /// The log as it is.
    pub fn nothing(log_dir: &Path) -> Applied {
        Applied {
            log_dir: log_dir.to_owned(),
            partitions: 50,
            is_compacted: false,
            groups: BTreeMap::new(),
            topics: BTreeMap::new(),
            edited: BTreeSet::new(),
            _rewritten: None,
            _dir: None,
        }
    }

    fn holding(self, rewritten: Rewritten) -> Applied {
        Applied { _rewritten: Some(rewritten), ..self }
    }

    pub fn log_dir(&self) -> &Path {
        &self.log_dir
    }

    pub fn old_name<'n>(&'n self, group: &'n str) -> &'n str {
        self.groups.iter().find(|(_, new)| *new == group).map_or(group, |(old, _)| old)
    }

    /// What was said before, with the new names.
    pub fn renamed(&self, facts: &Facts) -> Facts {
        let new_group = |name: &String| self.groups.get(name).unwrap_or(name).clone();
        facts.iter().map(|(name, group)| (new_group(name), self.with_new_topics(group))).collect()
    }

    fn with_new_topics(&self, group: &GroupFacts) -> GroupFacts {
        let fields = |fields: &BTreeMap<String, String>| {
            fields.iter().map(|(name, value)| (name.clone(), self.text(name, value))).collect::<BTreeMap<_, _>>()
        };
        let by_name = |all: &BTreeMap<String, BTreeMap<String, String>>| {
            all.iter().map(|(name, it)| (name.clone(), fields(it))).collect::<BTreeMap<_, _>>()
        };
        let by_topic = |all: &BTreeMap<String, BTreeMap<String, String>>| {
            all.iter()
                .map(|(place, it)| {
                    let (topic, partition) = place.rsplit_once('-').unwrap();
                    (format!("{}-{partition}", self.topic(topic)), fields(it))
                })
                .collect::<BTreeMap<_, _>>()
        };
        GroupFacts {
            absent: group.absent,
            fields: fields(&group.fields),
            members: group.members.as_ref().map(by_name),
            offsets: group.offsets.as_ref().map(by_topic),
        }
    }

    pub fn topic<'n>(&'n self, name: &'n str) -> &'n str {
        self.topics.get(name).map_or(name, String::as_str)
    }

    /// Lists of topics are sorted by name.
    fn text(&self, field: &str, value: &str) -> String {
        let separator = match field {
            "subscribedTopics" => " ",
            "assignment" | "target" | "sharePartitions" if !value.starts_with("active ") => "] ",
            _ => return value.to_owned(),
        };
        let end = &separator[..separator.len() - 1];
        let name = |word: &str| {
            let word = word.strip_suffix(end).unwrap_or(word);
            let (topic, rest) = word.split_at(word.find('[').unwrap_or(word.len()));
            format!("{}{rest}{end}", self.topic(topic))
        };
        let mut words: Vec<_> = value.split(separator).filter(|it| !it.is_empty()).map(name).collect();
        words.sort();
        words.join(" ")
    }

    /// Whether a difference from what was said before may not be: of a group that was loaded before, and none of whose
    /// records was converted.
    pub fn is_kept(&self, difference: &Difference) -> bool {
        let is_new = difference.what == "listed" && difference.truth == "not";
        !is_new && !self.edited.contains(self.old_name(&difference.group))
    }
}
