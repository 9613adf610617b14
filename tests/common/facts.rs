//! What is said about groups, as facts that can be compared: names and values, each a string.
//!
//! Three sources are put into this shape: `describe --all --format json` of ours (here), the truth that Truth.java asks
//! of a broker (`truth.rs`), and that of the museum (`museum.rs`). Must not know: which differences may be.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Facts by name: `state`, `clientId` ...
pub type Fields = BTreeMap<String, String>;

/// What is said about one group. A source that does not tell a field leaves it out; one that does not tell members or
/// offsets at all has none.
#[derive(Debug, Default, Clone)]
pub struct GroupFacts {
    /// The source says that there is no such group.
    pub absent: bool,
    pub fields: Fields,
    pub members: Option<BTreeMap<String, Fields>>,
    pub offsets: Option<BTreeMap<String, Fields>>,
}

/// By group id.
pub type Facts = BTreeMap<String, GroupFacts>;

/// A fact that is not the same in both.
#[derive(Debug, Clone)]
pub struct Difference {
    pub group: String,
    /// `listed`, `state`, `member X`, `member X: clientId`, `offset orders-0: metadata` ...
    pub what: String,
    pub truth: String,
    pub ours: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |text: &str| text.chars().take(200).collect::<String>();
        write!(f, "{:?}: {}: broker {:?}, ours {:?}", self.group, self.what, cut(&self.truth), cut(&self.ours))
    }
}

/// How much was compared.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub groups: usize,
    pub members: usize,
    pub offsets: usize,
    pub facts: usize,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.groups += other.groups;
        self.members += other.members;
        self.offsets += other.offsets;
        self.facts += other.facts;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { groups, members, offsets, facts } = self;
        write!(f, "{groups} groups, {members} members, {offsets} offsets, {facts} facts")
    }
}

/// Compares: groups, members and offsets must be the same ones; fields are compared where the truth tells them.
pub fn compare(truth: &Facts, ours: &Facts) -> (Vec<Difference>, Counts) {
    let mut comparing = Comparing::default();
    for (name, broker) in truth {
        comparing.group = name.clone();
        match (broker.absent, ours.get(name)) {
            (true, None) => {}
            (true, Some(_)) => comparing.differ("listed", "not", "listed"),
            (false, None) => comparing.differ("listed", "listed", "not"),
            (false, Some(mine)) => comparing.groups(broker, mine),
        }
    }
    for name in ours.keys().filter(|name| !truth.contains_key(*name)) {
        comparing.group = name.clone();
        comparing.differ("listed", "not", "listed");
    }
    (comparing.differences, comparing.counts)
}

#[derive(Default)]
struct Comparing {
    group: String,
    differences: Vec<Difference>,
    counts: Counts,
}

impl Comparing {
    fn differ(&mut self, what: &str, truth: &str, ours: &str) {
        let (truth, ours) = (truth.to_owned(), ours.to_owned());
        self.differences.push(Difference { group: self.group.clone(), what: what.to_owned(), truth, ours });
    }

    fn groups(&mut self, broker: &GroupFacts, mine: &GroupFacts) {
        self.counts.groups += 1;
        self.fields("", &broker.fields, &mine.fields);
        let none = BTreeMap::new();
        if let Some(members) = &broker.members {
            self.counts.members += members.len();
            self.entities("member", members, mine.members.as_ref().unwrap_or(&none));
        }
        if let Some(offsets) = &broker.offsets {
            self.counts.offsets += offsets.len();
            self.entities("offset", offsets, mine.offsets.as_ref().unwrap_or(&none));
        }
    }

    fn entities(&mut self, kind: &str, broker: &BTreeMap<String, Fields>, mine: &BTreeMap<String, Fields>) {
        for (name, fields) in broker {
            match mine.get(name) {
                Some(same) => self.fields(&format!("{kind} {name}: "), fields, same),
                None => self.differ(&format!("{kind} {name}"), &format!("{fields:?}"), "none"),
            }
        }
        for (name, fields) in mine.iter().filter(|(name, _)| !broker.contains_key(*name)) {
            self.differ(&format!("{kind} {name}"), "none", &format!("{fields:?}"));
        }
    }

    fn fields(&mut self, prefix: &str, broker: &Fields, mine: &Fields) {
        for (name, value) in broker {
            self.counts.facts += 1;
            let same = mine.get(name).map_or("(not told)", String::as_str);
            if same != value {
                self.differ(&format!("{prefix}{name}"), value, same);
            }
        }
    }
}

/// `describe --all --format json` as facts.
pub fn of_describe(document: &Value) -> Facts {
    let groups = document.as_array().expect("an array of groups");
    groups.iter().map(|group| (text(&group["group"]), of_group(group))).collect()
}

fn of_group(group: &Value) -> GroupFacts {
    let mut fields = Fields::new();
    for name in ["type", "state", "protocolType", "groupEpoch", "assignmentEpoch", "topologyEpoch"] {
        put(&mut fields, name, &group[name]);
    }
    put(&mut fields, "assignor", &assignor(group));
    if let Some(topics) = group["sharePartitions"].as_array() {
        // Until the share coordinator has set them up, a broker names no offsets of them.
        let there = topics.iter().filter(|topic| topic["state"] == "initialized");
        fields
            .insert("sharePartitions".to_owned(), partitions(there.map(|it| (text(&it["topic"]), &it["partitions"]))));
    }
    let members = array(&group["members"]).map(|member| (text(&member["memberId"]), of_member(member))).collect();
    // What waits for the end of a transaction is not committed.
    let committed = array(&group["offsets"]).filter(|offset| !offset["offset"].is_null());
    let offsets = committed.map(|offset| (topic_partition(offset), of_offset(offset))).collect();
    GroupFacts { absent: false, fields, members: Some(members), offsets: Some(offsets) }
}

/// A consumer group has the assignor that most members ask for, else the broker's first, which is `uniform` as it comes.
fn assignor(group: &Value) -> Value {
    if group["type"] != "consumer" {
        return Value::String(text(&group["protocol"]));
    }
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for name in array(&group["members"]).filter_map(|member| member["serverAssignor"].as_str()) {
        *votes.entry(name).or_default() += 1;
    }
    Value::from(votes.into_iter().max_by_key(|(_, votes)| *votes).map_or("uniform", |(name, _)| name))
}

fn of_member(member: &Value) -> Fields {
    let mut fields = Fields::new();
    for name in ["instanceId", "clientId", "rackId", "memberEpoch", "upgraded", "topologyEpoch", "processId"] {
        put(&mut fields, name, &member[name]);
    }
    put(&mut fields, "host", &member["clientHost"]);
    put(&mut fields, "subscribedTopics", &Value::String(sorted_texts(&member["subscribedTopics"])));
    let endpoint = &member["userEndpoint"];
    let endpoint = endpoint.is_object().then(|| format!("{}:{}", text(&endpoint["host"]), endpoint["port"]));
    fields.insert("userEndpoint".to_owned(), endpoint.unwrap_or_default());
    fields.insert("clientTags".to_owned(), tags(&member["clientTags"]));
    for name in ["assignment", "target"] {
        fields.insert(name.to_owned(), assignment(&member[name]));
    }
    fields
}

fn assignment(value: &Value) -> String {
    if value.is_object() {
        return tasks(|kind| {
            array(&value[kind]).map(|it| (text(&it["subtopologyId"]), it["partitions"].clone())).collect()
        });
    }
    // A name that is not known shows as its id, which is never what the broker says.
    let name = |topic: &Value| if topic["topic"].is_null() { text(&topic["topicId"]) } else { text(&topic["topic"]) };
    partitions(array(value).map(|topic| (name(topic), &topic["partitions"])))
}

fn of_offset(offset: &Value) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "offset", &offset["offset"]);
    put(&mut fields, "metadata", &offset["metadata"]);
    fields.insert("leaderEpoch".to_owned(), leader_epoch(&offset["leaderEpoch"]));
    fields
}

// What the sources share.

pub fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A string as it is, null as the empty one, anything else as JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn put(fields: &mut Fields, name: &str, value: &Value) {
    fields.insert(name.to_owned(), text(value));
}

/// -1 and null both say that there is none.
pub fn leader_epoch(value: &Value) -> String {
    if value.is_null() || value.as_i64() == Some(-1) { "none".to_owned() } else { text(value) }
}

pub fn topic_partition(offset: &Value) -> String {
    format!("{}-{}", text(&offset["topic"]), offset["partition"])
}

pub fn sorted_texts(value: &Value) -> String {
    let mut texts: Vec<_> = array(value).map(text).collect();
    texts.sort();
    texts.join(" ")
}

/// `orders[0, 1] payments[2]`: by topic, without those that have none.
pub fn partitions<'v>(topics: impl Iterator<Item = (String, &'v Value)>) -> String {
    let mut all: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (topic, partitions) in topics {
        all.entry(topic).or_default().extend(array(partitions).filter_map(Value::as_i64));
    }
    all.retain(|_, partitions| !partitions.is_empty());
    all.values_mut().for_each(|partitions| partitions.sort_unstable());
    all.iter().map(|(topic, partitions)| format!("{topic}{partitions:?}")).collect::<Vec<_>>().join(" ")
}

/// `active 0[1] standby  warmup `.
pub fn tasks(of_kind: impl Fn(&str) -> Vec<(String, Value)>) -> String {
    let kinds = ["active", "standby", "warmup"].map(|kind| {
        let tasks = of_kind(kind);
        format!("{kind} {}", partitions(tasks.iter().map(|(id, numbers)| (id.clone(), numbers))))
    });
    kinds.join(" ")
}

pub fn tags(value: &Value) -> String {
    let mut tags: Vec<_> =
        value.as_object().into_iter().flatten().map(|(key, value)| format!("{key}={}", text(value))).collect();
    tags.sort();
    tags.join(" ")
}
