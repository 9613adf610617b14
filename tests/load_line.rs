//! `describe --partition-summary` against what a broker counts when it loads a partition.
//!
//! The numbers are those that Kafka 4.4.0 logged for these very files (tests/broker/loadback, the lines "Finished loading
//! of metadata from __consumer_offsets-N ... Loaded R records which total to B bytes"). It counts every record, control
//! records too, and the bytes of the batches as they lie there, compressed ones compressed. The coordinator that 3.9 and
//! earlier run by default counts nothing in its line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use std::collections::BTreeMap;

/// Partition, records, bytes.
type Loaded = (i32, u64, u64);

const LOADED_BY_4_4_0: [(&str, &[Loaded]); 9] = [
    ("example3", &[(18, 53, 5637), (27, 81, 8204), (32, 81, 7206), (41, 59, 7129)]),
    ("tx", &[(0, 36, 3041), (1, 21, 2494), (2, 1, 180), (3, 21, 2463)]),
    ("codecs/zstd", &[(2, 168, 1998), (3, 267, 4360)]),
    ("cleaned/after", &[(0, 199, 25872), (1, 203, 26269), (2, 199, 25872), (3, 199, 25872)]),
    // Both with empty batches.
    ("cleaned/third-after", &[(0, 146, 19397), (1, 148, 19740), (2, 148, 19679), (3, 146, 19458)]),
    ("cleaned-tv1/after", &[(0, 84, 9782), (1, 88, 10240), (2, 84, 9782), (3, 84, 9843)]),
    ("museum/2.8.2", &[(0, 323, 26493), (1, 80, 7120), (2, 208, 20760)]),
    // Magic 1 and 0, with wrappers.
    ("museum/0.10.2.2-compacted", &[(0, 73, 5127), (1, 77, 4989), (2, 94, 6550)]),
    ("museum/2.3.1-format-0.9", &[(0, 26, 1727), (1, 10, 882), (2, 27, 2325)]),
];

#[test]
fn a_partition_loads_as_many_records_and_bytes_as_a_broker_counted() {
    let expected: BTreeMap<&str, &[Loaded]> = LOADED_BY_4_4_0.into();
    let mut compared = 0;
    for exhibit in common::exhibits() {
        let Some(lines) = expected.get(exhibit.name.as_str()) else { continue };
        let loaded = common::told::load_lines(&exhibit.dir.join("log"));
        assert_eq!(loaded, **lines, "{}", exhibit.name);
        compared += loaded.len();
    }
    println!("{compared} partitions loaded as a broker loads them");
    assert!(compared >= 10, "{compared} partitions compared");
}
