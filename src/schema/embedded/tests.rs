//! Hand-made payloads: every version, every cut, null and empty, and bytes that mean nothing.

use super::streams_commit::commit_metadata;
use super::*;
use crate::bytes::Cursor;
use crate::fault::FaultKind;
use crate::json::Style;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

/// Bytes put together by hand.
#[derive(Default, Clone)]
struct Made(Vec<u8>);

impl Made {
    fn new() -> Self {
        Made::default()
    }
    fn i16(mut self, n: i16) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }
    fn i32(mut self, n: i32) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }
    fn i64(mut self, n: i64) -> Self {
        self.0.extend(n.to_be_bytes());
        self
    }
    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
    fn text(self, text: &str) -> Self {
        self.i16(text.len() as i16).raw(text.as_bytes())
    }
    fn blob(self, bytes: &[u8]) -> Self {
        self.i32(bytes.len() as i32).raw(bytes)
    }
    fn topics(self, topics: &[(&str, &[i32])]) -> Self {
        topics.iter().fold(self.i32(topics.len() as i32), |made, (topic, partitions)| {
            partitions.iter().fold(made.text(topic).i32(partitions.len() as i32), |made, n| made.i32(*n))
        })
    }
    /// Topics `a` and `bc`, null user data, and as many further fields as the version 0 to 3 has.
    fn subscription(version: i16, fields: i16) -> Self {
        let made = Made::new().i16(version).i32(2).text("a").text("bc").i32(-1);
        let made = if fields >= 1 { made.topics(&[("a", &[0, 7]), ("bc", &[])]) } else { made };
        let made = if fields >= 2 { made.i32(12) } else { made };
        if fields >= 3 { made.text("r1") } else { made }
    }
}

fn shown(payload: &Payload<'_>) -> String {
    let mut json = Json::new(Style::Lossless);
    payload.json(&mut json);
    let text = String::from_utf8(json.bytes().to_vec()).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    text
}

fn subscription(protocol: &str, bytes: &[u8]) -> String {
    shown(&member_subscription(b"consumer", Some(protocol.as_bytes()), bytes))
}

fn assignment(protocol: &str, bytes: &[u8]) -> String {
    shown(&member_assignment(b"consumer", Some(protocol.as_bytes()), bytes))
}

#[test]
fn subscriptions_of_every_version() {
    let owned = r#""ownedPartitions":[{"topic":"a","partitions":[0,7]},{"topic":"bc","partitions":[]}]"#;
    let ends = ["", ",OWNED", ",OWNED,\"generationId\":12", ",OWNED,\"generationId\":12,\"rackId\":\"r1\""];
    for (version, end) in (0..).zip(ends) {
        let end = end.replace("OWNED", owned);
        let head =
            format!(r#"{{"kind":"consumer-subscription","version":{version},"topics":["a","bc"],"userData":null"#);
        assert_eq!(subscription("range", &Made::subscription(version, version).0), format!("{head}{end}}}"));
    }
}

#[test]
fn a_newer_version_shows_what_is_known_and_counts_the_rest() {
    let bytes = Made::subscription(7, 3).raw(b"twelve bytes").0;
    let text = subscription("range", &bytes);
    assert!(text.starts_with(r#"{"kind":"consumer-subscription","version":7,"topics":["a","bc"],"#), "{text}");
    assert!(text.ends_with(r#""rackId":"r1","trailing":12}"#), "{text}");
    let Payload::ConsumerSubscription(it) = member_subscription(b"consumer", None, &bytes) else { panic!("opaque") };
    assert_eq!((it.version, it.trailing, it.generation_id), (7, 12, 12));
}

#[test]
fn every_cut_of_a_subscription_is_a_said_default_or_opaque() {
    let bytes = Made::subscription(3, 3).0;
    // Where the fields behind the topics begin, and what is missing then.
    let (topics, owned) = (2 + 4 + 3 + 4, 4 + (3 + 4 + 8) + (4 + 4));
    let all = ["userData", "ownedPartitions", "generationId", "rackId"];
    let starts = [topics, topics + 4, topics + 4 + owned, topics + 4 + owned + 4];
    for n in 1..bytes.len() {
        let cut = bytes.get(..n).unwrap();
        match (member_subscription(b"consumer", Some(b"sticky"), cut), starts.iter().position(|start| *start == n)) {
            (Payload::ConsumerSubscription(it), Some(i)) => {
                assert_eq!(it.missing, all.get(i..).unwrap());
                assert_eq!((it.trailing, it.rack_id, it.topics.len()), (0, None, 2));
                assert!(i > 2 || it.generation_id == -1);
            }
            (Payload::Opaque(raw, Some(fault)), None) => assert!(raw == cut && fault.at <= n as u64),
            (other, start) => panic!("{n} {start:?} {other:?}"),
        }
    }
}

#[test]
fn empty_is_not_null_and_not_a_fault() {
    assert_eq!(subscription("range", &[]), r#"{"kind":"empty"}"#);
    assert_eq!(assignment("range", &[]), r#"{"kind":"empty"}"#);
    assert_eq!(shown(&member_assignment(b"foo", None, &[])), r#"{"kind":"empty"}"#);
    let head = r#"{"kind":"consumer-assignment","version":0,"assignedPartitions":[],"userData":"#;
    assert_eq!(assignment("sticky", &Made::new().i16(0).i32(0).i32(-1).0), format!("{head}null}}"));
    assert_eq!(assignment("sticky", &Made::new().i16(0).i32(0).i32(0).0), format!("{head}\"\"}}"));
}

#[test]
fn nulls_and_lengths_that_cannot_be() {
    let kind = |bytes: Made| match member_subscription(b"consumer", None, &bytes.0) {
        Payload::Opaque(_, Some(fault)) => fault.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(Made::new().i16(0).i32(-1).i32(-1)), FaultKind::UnexpectedNull);
    assert_eq!(kind(Made::new().i16(0).i32(1).i16(-1).i32(-1)), FaultKind::UnexpectedNull);
    assert_eq!(kind(Made::new().i16(0).i32(i32::MAX).i32(-1)), FaultKind::BadLength(i64::from(i32::MAX)));
    assert_eq!(kind(Made::new().i16(0).i32(0).i32(5)), FaultKind::BadLength(5));
    assert_eq!(kind(Made::new().i16(1).i32(0).i32(-1).i32(1).text("t").i32(1 << 30)), FaultKind::BadLength(1 << 30));
}

#[test]
fn user_data_of_sticky_assignors() {
    let plan = Made::new().topics(&[("t", &[1, 2])]);
    let around = |data: &[u8]| Made::new().i16(0).i32(0).blob(data).0;
    let user_data = |protocol: &str, data: &[u8]| {
        let text = subscription(protocol, &around(data));
        let head = r#"{"kind":"consumer-subscription","version":0,"topics":[],"userData":"#;
        text.strip_prefix(head).unwrap().strip_suffix('}').unwrap().to_owned()
    };
    let previous = r#"{"kind":"sticky","previousAssignment":[{"topic":"t","partitions":[1,2]}]"#;
    assert_eq!(user_data("sticky", &plan.0), format!("{previous}}}"));
    let whole = plan.clone().i32(9).0;
    assert_eq!(user_data("sticky", &whole), format!("{previous},\"generation\":9}}"));
    assert_eq!(user_data("cooperative-sticky", &whole), format!("{previous},\"generation\":9}}"));
    assert_eq!(user_data("cooperative-sticky", &[0, 0, 0, 9]), r#"{"kind":"cooperative-sticky","generation":9}"#);
    assert_eq!(user_data("sticky", &[0; 4]), r#"{"kind":"sticky","previousAssignment":[]}"#);
    assert_eq!(user_data("rack-affinity", b"r-1"), r#"{"kind":"rack-affinity","rack":"r-1"}"#);
    // Not the shape, another assignor, nothing at all: bytes stay bytes.
    assert_eq!(user_data("sticky", b"abc"), r#""YWJj""#);
    assert_eq!(user_data("sticky", &plan.i32(9).raw(b"x").0).as_bytes().first(), Some(&b'"'));
    assert_eq!(user_data("range", &[0; 4]), r#""AAAAAA==""#);
    assert_eq!(user_data("stream", &[0, 0, 0, 0]), r#""AAAAAA==""#);
    assert_eq!(user_data("sticky", b""), r#""""#);
}

#[test]
fn a_connect_assignment_of_seven_connectors() {
    let mut made = Made::new().i16(1).i16(0).text("worker-1").text("http://w:8083/").i64(44).i32(7);
    for i in 0..7 {
        made = made.text(&format!("connector-{i}")).i32(3).i32(-1).i32(0).i32(i);
    }
    let bytes = made.clone().topics(&[("gone", &[3])]).i32(60000).0;
    let Payload::ConnectAssignment(it) = member_assignment(b"connect", Some(b"compatible"), &bytes) else {
        panic!("not an assignment")
    };
    let connectors = it.assignment.unwrap();
    assert_eq!(connectors.len(), 7);
    assert!(connectors.iter().zip(0..).all(|(c, i)| c.tasks.iter().eq([-1, 0, i])));
    assert_eq!((it.config_offset, it.delay, it.trailing, it.missing.len()), (44, 60000, 0, 0));
    assert_eq!(it.revoked.unwrap().first().map(|c| c.connector), Some(b"gone".as_slice()));
    // As consumer protocol these bytes make no sense, and as Connect they may end behind the connectors.
    assert!(matches!(member_assignment(b"consumer", None, &bytes), Payload::Opaque(_, Some(_))));
    let Payload::ConnectAssignment(it) = member_assignment(b"connect", None, &made.0) else { panic!("opaque") };
    assert_eq!(it.missing, ["revoked", "delay"]);
}

#[test]
fn a_connect_worker_with_its_present_assignment() {
    let inner = Made::new().i16(2).i16(1).text("w").text("u").i64(-1).i32(-1).i32(-1).i32(0).0;
    let text = shown(&member_subscription(b"connect", None, &Made::new().i16(2).text("u").i64(7).blob(&inner).0));
    let expected = concat!(
        r#"{"kind":"connect-worker","version":2,"url":"u","configOffset":7,"allocation":"#,
        r#"{"kind":"connect-assignment","version":2,"error":1,"leader":"w","leaderUrl":"u","configOffset":-1,"#,
        r#""assignment":null,"revoked":null,"delay":0}}"#
    );
    assert_eq!(text, expected);
    let text = shown(&member_subscription(b"connect", None, &Made::new().i16(1).text("u").i64(7).blob(b"x").0));
    assert!(text.ends_with(r#""allocation":"eA=="}"#), "{text}");
}

#[test]
fn registries_and_strangers() {
    let text = b"{\"host\" :\"sr\",\n\"port\":12345678901234567890123,\"version\":1}";
    let expected = concat!(
        r#"{"kind":"registry-subscription","version":1,"#,
        r#""data":{"host":"sr","port":12345678901234567890123,"version":1}}"#
    );
    assert_eq!(shown(&member_subscription(b"sr", Some(b"v0"), text)), expected);
    assert!(matches!(member_assignment(b"sr", None, b"{\"a\":"), Payload::Opaque(_, None)));
    assert!(matches!(member_assignment(b"sr", None, &b"{\"a\":".repeat(5000)), Payload::Opaque(_, None)));
    assert_eq!(shown(&member_assignment(b"foo", None, b"abc")), r#"{"kind":"opaque","length":3,"bytes":"YWJj"}"#);
    let cut = r#"{"kind":"opaque","length":1,"bytes":"AA==","fault":{"code":"short-buffer","at":0,"#;
    assert!(subscription("range", &[0]).starts_with(cut));
}

#[test]
fn a_newer_streams_version_is_read_as_far_as_it_promises() {
    let future = Made::new().i32(12).i32(13).raw(&[9; 30]).0;
    let bytes = Made::new().i16(0).i32(0).blob(&future).0;
    let expected =
        r#""userData":{"kind":"streams-subscription","version":12,"latestSupportedVersion":13,"trailing":30}}"#;
    assert!(subscription("stream", &bytes).ends_with(expected), "{}", subscription("stream", &bytes));
    let expected =
        r#""userData":{"kind":"streams-assignment","version":12,"commonlySupportedVersion":13,"trailing":30}}"#;
    assert!(assignment("stream", &bytes).ends_with(expected), "{}", assignment("stream", &bytes));
}

#[test]
fn a_dictionary_cannot_blow_up() {
    let info = |name: &str| {
        let made = Made::new().i32(6).i32(6).i32(0).i32(0).i32(1).i32(5).text(name);
        let made = made.i32(1).text("h").i32(80).i32(2).i32(5).i32(0).i32(5).i32(1).i32(0).i32(0);
        assignment("stream", &Made::new().i16(0).i32(0).blob(&made.0).0)
    };
    assert!(
        info(&"n".repeat(249)).contains(r#""partitionsByHost":[{"host":"h","port":80,"partitions":[{"topic":"nnn"#)
    );
    assert!(info(&"n".repeat(250)).contains(r#""userData":"AAAABgAAAAY"#));
}

#[test]
fn commit_metadata_is_streams_only_if_it_is_to_the_last_byte() {
    let read = |bytes: &Made| commit_metadata(STANDARD.encode(&bytes.0).as_bytes());
    let head = |magic: u8, time: i64| Made::new().raw(&[magic]).i64(time);
    assert_eq!(read(&head(1, 5)).map(|it| (it.version, it.partition_time)), Some((1, 5)));
    assert_eq!(read(&head(2, -1)).map(|it| it.partition_time), Some(-1));
    let map = head(2, 5).i32(1).blob(b"k").i64(-3);
    assert_eq!(read(&map).map(|it| it.processor_metadata), Some(vec![(b"k".to_vec(), -3)]));
    for other in
        [head(3, 5), head(1, -2), head(1, 5).raw(b"x"), map.raw(b"x"), head(2, 5).i32(1 << 30), head(1, i64::MAX)]
    {
        assert_eq!(read(&other), None);
    }
    for text in ["", "AgentRunner1", "{\"a\":1}", "kgo-a136b6ae-3d24", "AQAAAaIpY1Z+ "] {
        assert_eq!(commit_metadata(text.as_bytes()), None, "{text}");
    }
}

/// Reads bytes as everything there is.
fn read_as_everything(bytes: &[u8]) {
    for protocol_type in ["consumer", "connect", "sr", "", "foo"] {
        for protocol in [None, Some("sticky"), Some("cooperative-sticky"), Some("stream"), Some("rack-affinity")] {
            let protocol = protocol.map(str::as_bytes);
            shown(&member_subscription(protocol_type.as_bytes(), protocol, bytes));
            shown(&member_assignment(protocol_type.as_bytes(), protocol, bytes));
        }
    }
    let mut json = Json::new(Style::Lossless);
    consumer::dump_tool_subscription(bytes, &mut json);
    consumer::dump_tool_assignment(bytes, &mut json);
    commit_metadata(bytes);
    commit_metadata(STANDARD.encode(bytes).as_bytes());
}

proptest! {
    #[test]
    fn any_bytes_are_something(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        read_as_everything(&bytes);
    }

    // Small numbers, so that counts and lengths often fit.
    #[test]
    fn likely_bytes_are_something(bytes in proptest::collection::vec(prop_oneof![8 => Just(0u8), 4 => 1u8..12, 1 => Just(255u8)], 0..200)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn likely_user_data_is_something(version in 0i32..13, bytes in proptest::collection::vec(prop_oneof![8 => Just(0u8), 4 => 1u8..12, 1 => Just(255u8)], 0..200)) {
        read_as_everything(&Made::new().i16(0).i32(0).blob(&Made::new().i32(version).raw(&bytes).0).0);
    }

    #[test]
    fn integers_are_read_where_they_stand(numbers in proptest::collection::vec(any::<i32>(), 0..20)) {
        let made = numbers.iter().fold(Made::new().i32(numbers.len() as i32), |made, n| made.i32(*n)).raw(b"rest");
        let mut cursor = Cursor::new(&made.0);
        let read = <pieces::Ints as pieces::Wire>::read(&mut cursor).unwrap();
        prop_assert!(read.iter().eq(numbers.iter().copied()));
        prop_assert_eq!(cursor.rest(), b"rest");
    }
}
