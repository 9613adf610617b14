//! Codes on the files beside the segments, and those of the log dir.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! side {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Side {
                IndexMismatch "index-mismatch" Warning {
                    means "An entry of an offset index names a position at which no batch begins, or an offset that is not there: reads that begin with it miss records. A broker makes an index anew only for segments that it did not flush before it stopped; others it believes."
                    comes "An unclean stop after which the index was not made anew, or an index of another copy."
                    next "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
                }
                IndexOrder "index-order" Warning {
                    means "The entries of an offset index do not ascend: a damaged entry, or the remains of an older index."
                    comes "An unclean stop: indexes are memory-mapped and reach the disk in any order."
                    next "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
                }
                IndexBeyondEnd "index-beyond-end" Warning {
                    means "An offset index names positions behind the end of its segment: the end of the segment was lost, or the index is that of another copy."
                    comes "A segment whose end was lost while its index was kept. Where another segment follows, that is an error: what is gone had been on the disk; of the last segment an unclean stop may cost the end, which a replica has."
                    next "Keep the file: it proves what is gone. 'grouplog salvage --dry-run' tells which offsets that are, and --also REPLICA takes them from there. Once nothing is missed, remove the .index file while the broker is stopped: it makes a new one."
                }
                IndexCut "index-cut" Warning {
                    means "An offset index is not a whole number of entries long: it was cut. A broker makes an index anew only for segments that it did not flush before it stopped; others it reads without the last entries, which makes reads slower."
                    comes "A full disk or a copy that was cut short."
                    next "Remove the .index file while the broker is stopped: it makes a new one when it starts. No record is lost."
                }
                TimeIndexMismatch "time-index-mismatch" Warning {
                    means "An entry of a time index names an offset that is not there, or a time that is not the greatest up to that offset."
                    comes "An unclean stop, or an index of another copy."
                    next "Where an index-beyond-end stands beside it, do first what is said of that. Else nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
                    since "0.10.1 and later."
                }
                TimeIndexOrder "time-index-order" Warning {
                    means "The entries of a time index do not ascend: a damaged entry, or the remains of an older index."
                    comes "An unclean stop: indexes are memory-mapped and reach the disk in any order."
                    next "Nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
                    since "0.10.1 and later."
                }
                TimeIndexCut "time-index-cut" Warning {
                    means "A time index is not a whole number of entries long: it was cut."
                    comes "A full disk or a copy that was cut short."
                    next "Nothing for this topic: no coordinator searches it by time. To have it right remove the segment's .index and .timeindex files while the broker is stopped: it makes new ones."
                    since "0.10.1 and later."
                }
                IndexMissing "index-missing" Info normal {
                    means "A segment has no offset or time index, as in copies of .log files alone, and before Kafka 0.10.1 for times."
                    comes "Someone copied the .log files alone, or removed the indexes."
                    next "Nothing: a broker makes an offset index when it starts, and the time index with it."
                }
                IndexUntrimmed "index-untrimmed" Info normal {
                    means "An index ends in zeros: space that a broker allocates for the segment it writes to, and cuts off when it stops in order or begins another one."
                    comes "A broker that runs, or was killed."
                    next "Nothing: the broker runs or was killed."
                }
                TxnIndexMismatch "txn-index-mismatch" Warning {
                    means "An entry of a transaction index disagrees with the log: the transaction was committed, is another producer's, or lies elsewhere. Consumers that read committed records only would leave out the wrong ones; coordinators go by the log."
                    comes "A file of another copy, or a segment that was rewritten without it."
                    next "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
                    since "0.11 and later."
                }
                TxnIndexIncomplete "txn-index-incomplete" Warning {
                    means "A transaction that the log shows as aborted is not in its segment's transaction index. Consumers that read committed records only would see its records; coordinators go by the log."
                    comes "A crash between the write of the marker and that of the index."
                    next "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
                    since "0.11 and later."
                }
                TxnIndexBeyondEnd "txn-index-beyond-end" Warning {
                    means "A transaction index names offsets behind the end of the log: its end was lost, or the file is that of another copy."
                    comes "A log whose end was cut while its index was kept."
                    next "Keep the file: it proves what is gone. 'grouplog salvage --dry-run' tells which offsets that are, and --also REPLICA takes them from there. Once nothing is missed, remove the .txnindex and .index files of the segment while the broker is stopped."
                    since "0.11 and later."
                }
                TxnIndexOrder "txn-index-order" Warning {
                    means "The entries of a transaction index do not ascend by the end of the transaction: a damaged entry. A broker that finds one below its segment makes the index anew when it starts."
                    comes "An unclean stop, or files put together."
                    next "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
                    since "0.11 and later."
                }
                TxnIndexCut "txn-index-cut" Warning {
                    means "A transaction index is not a whole number of entries long: its last entry was cut short. Consumers that read committed records only would see the records of that transaction; coordinators go by the log."
                    comes "A full disk, a kill in the middle of a write."
                    next "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
                    since "0.11 and later."
                }
                TxnIndexVersion "txn-index-version" Error {
                    means "An entry of a transaction index has a version that no release knows: a broker does not start with it."
                    comes "Damage, or a newer release."
                    next "Remove the .txnindex and .index files of the segment while the broker is stopped: it makes new ones when it starts."
                    since "0.11 and later."
                }
                SnapshotCrc "snapshot-crc" Warning {
                    means "The bytes of a producer state snapshot are not those that its CRC was made of. A broker removes it when it starts, and takes an older one or the log."
                    comes "A disk that changed bytes."
                    next "Nothing: a broker puts it right. Check the disk."
                    since "0.11 and later."
                }
                SnapshotMalformed "snapshot-malformed" Warning {
                    means "A producer state snapshot was cut, or counts other entries than it has. A broker removes it when it starts, and takes an older one or the log."
                    comes "A crash while it was written."
                    next "Nothing: a broker puts it right."
                    since "0.11 and later."
                }
                SnapshotVersion "snapshot-version" Warning {
                    means "A producer state snapshot of a version that this release of grouplog does not know. Older brokers remove it, and take an older one or the log."
                    comes "A newer release."
                    next "Nothing, if a newer broker wrote it."
                    since "0.11 and later."
                }
                SnapshotMismatch "snapshot-mismatch" Warning {
                    means "A producer state snapshot disagrees with the log about a producer that the log still shows: it is that of another copy. A broker that believes it refuses sound commits of that producer, or holds a transaction open that has ended."
                    comes "Segments or snapshots that were copied from another replica or another time."
                    next "Remove that .snapshot file while the broker is stopped: it takes the one before it, and the log. Do not remove all of them: a broker that stopped in order would then know no producers."
                    since "0.11 and later."
                }
                SnapshotBeyondEnd "snapshot-beyond-end" Warning {
                    means "A producer state snapshot of an offset behind the end of the log: its end was lost, or the file is that of another copy. A broker removes it when it starts."
                    comes "A log whose end was cut while its snapshots were kept."
                    next "Compare the log's end with a replica ('grouplog diff')."
                    since "0.11 and later."
                }
                EpochsMissing "leader-epochs-missing" Info normal {
                    means "No leader-epoch-checkpoint, as before Kafka 0.11."
                    comes "An old release, or a copy of the .log files alone."
                    next "Nothing."
                    since "0.11 and later."
                }
                EpochsMalformed "leader-epochs-malformed" Error {
                    means "A leader-epoch-checkpoint that cannot be read whole: it was cut, or is no such file. A broker gives up the whole log dir over it when it starts (one whose last line alone has no end it reads, though a number may be cut there)."
                    comes "A crash of the machine while the file was written without sync (KAFKA-16541)."
                    next "Remove the file while the broker is stopped: it makes another one. Take it from a replica if the epochs are wanted."
                    since "0.11 and later."
                }
                EpochsOrder "leader-epochs-order" Warning {
                    means "The entries of a leader-epoch-checkpoint do not ascend. A broker drops those that do not, and may cut the wrong records when it follows a leader."
                    comes "An edited file, or files put together."
                    next "Take the file from a replica, or remove it while the broker is stopped."
                    since "0.11 and later."
                }
                EpochsMismatch "leader-epochs-mismatch" Warning {
                    means "A leader-epoch-checkpoint disagrees with the leader epochs of the batches. A broker goes by the file, and may cut too much or too little when it follows a leader."
                    comes "A file of another copy, or an unclean election."
                    next "Take the file from a replica with the same log, or remove it while the broker is stopped."
                    since "0.11 and later."
                }
                EpochsBeyondEnd "leader-epochs-beyond-end" Warning {
                    means "A leader-epoch-checkpoint has an epoch that begins behind the end of the log: its end was lost, or the file is that of another copy. A broker drops such entries when it starts."
                    comes "A log whose end was lost."
                    next "Compare the log's end with a replica ('grouplog diff')."
                    since "0.11 and later."
                }
                MetadataMissing "partition-metadata-missing" Info normal {
                    means "No partition.metadata, as before Kafka 2.8. Brokers with KRaft need it: from 3.7 on they set a partition without it aside as stray, and delete it."
                    comes "An old release, or a copy of the .log files alone."
                    next "Nothing with ZooKeeper. For a broker with KRaft write one with the id of the cluster's topic."
                    since "2.8 and later."
                }
                MetadataLost "partition-metadata-lost" Warning {
                    means "No partition.metadata, in the log dir of a broker with KRaft. From Kafka 3.7 on it sets the partition aside as stray, and deletes it."
                    comes "A restore that took the .log files alone (KAFKA-16814)."
                    next "Write one with the topic id of the cluster before the broker starts: two lines, 'version: 0' and 'topic_id: ' with the id."
                    since "3.7 and later, with KRaft."
                }
                MetadataMalformed "partition-metadata-malformed" Error {
                    means "A partition.metadata that cannot be read: a broker does not start with it."
                    comes "An edit by hand, or a crash while it was written."
                    next "Write it anew with the topic id of the cluster: two lines, 'version: 0' and 'topic_id: ' with the id."
                    since "2.8 and later."
                }
                CheckpointMalformed "checkpoint-malformed" Error {
                    means "A checkpoint file of the log dir that cannot be read whole: it was cut, or is no such file. A broker gives up the whole log dir over it when it starts (one whose last line alone has no end it reads, though a number may be cut there)."
                    comes "A crash of the machine while the file was written, or an edit by hand."
                    next "Remove the file while the broker is stopped: it makes another one."
                }
                CheckpointRepeated "checkpoint-repeated" Warning {
                    means "A checkpoint file of the log dir names a partition twice: the last one counts."
                    comes "An edit by hand."
                    next "Remove the wrong line, and lower the count in the second line, while the broker is stopped."
                }
                CheckpointBeyondEnd "checkpoint-beyond-end" Warning {
                    means "A checkpoint of the log dir is behind the end of the partition's log: its end was lost (a high watermark says that replicas had it), or the file is that of another copy."
                    comes "A lost end of the log, a checkpoint file that was not copied together with the log, or a move between disks (KAFKA-8362)."
                    next "Compare the log's end with a replica ('grouplog diff'); a broker lowers the checkpoint when it starts."
                }
                CheckpointBelowStart "checkpoint-below-start" Warning {
                    means "The cleaner's checkpoint is below the start of the partition's log. A broker says so at each cleaning, and begins at the start."
                    comes "Records that were deleted or expired in front of it (KAFKA-6266)."
                    next "Nothing; remove the line from the file, and lower the count in its second line, to be rid of the warnings."
                }
                LeftoverDeleted "leftover-deleted" Info normal {
                    means "A file that was removed from the log, and not yet from the disk. It may hold history that nothing else holds."
                    comes "A cleaning or deletion in the last minute (file.delete.delay.ms) before the copy or the crash."
                    next "Nothing: a broker removes it."
                }
                LeftoverCleaning "leftover-cleaning" Info {
                    means "A file of a cleaning that a crash cut short. A broker finishes or undoes it when it starts; 'grouplog' reads what the broker would."
                    comes "A crash in the middle of a cleaning."
                    next "Nothing: a broker puts it right."
                }
                SegmentMissing "segment-missing" Error {
                    means "A segment is gone: its indexes are here, and no other segment holds its offsets. 'salvage' says so too where no segment is here at all, and of what lies between a log and a copy of it that share no offsets."
                    comes "A '.log' file that was deleted by hand, left out of a copy, or lost by a file system check. A broker that removes a segment renames the '.log' first."
                    next "Copy the segment from where the log came from, or take what a replica has of it: 'grouplog salvage --also REPLICA'."
                }
                OrphanIndex "orphan-index" Info {
                    means "An index without its segment, whose offsets another segment holds, or which is empty. A broker removes it when it starts."
                    comes "A copy that left segments out, or a crash between two removals."
                    next "Nothing, unless the segment should be here: then copy it."
                }
                UnknownFile "unknown-file" Info {
                    means "A file that no broker makes in a partition folder."
                    comes "Someone or something put it there."
                    next "Nothing: brokers pass over it."
                }
                NotAFile "not-a-file" Error {
                    means "A folder, a link that leads nowhere or a pipe has the name of a file that a broker reads or writes. Most of them keep it from starting: it gives up the whole log dir, or waits for ever. In the place of partition.metadata a dead link has it set the partition aside. In the place of a snapshot they are worse: a broker that starts after a kill may take sound segments for damaged and empty them (seen with 4.4.0, not with 3.9.2)."
                    comes "A script or a restore that made a folder of a file's name, or links whose targets were not copied."
                    next "Move it away before a broker starts, with a .txnindex the segment's .index too: it makes indexes, snapshots and checkpoints anew. Write partition.metadata anew with the topic id of the cluster: two lines, 'version: 0' and 'topic_id: ' with the id."
                }
                HarmfulSwap "harmful-swap" Error {
                    means "A .swap file that a broker would put into the log when it starts, to the log's harm. A broker takes every .swap file for the whole of what the cleaner made of the segments in its range, and deletes those without a look: also where the file is empty or was cut, and records in them are alive. An empty one whose name lies inside a segment hides what stands behind that offset from readers; one behind the log's end has the log go on from there."
                    comes "A crash of the machine or a full disk before the file's bytes were on the disk, or a file that someone put there."
                    next "Move the .swap file away before a broker starts: the segment then counts again. 'grouplog salvage' does so in its copy."
                }
                SideUnreadable "side-file-unreadable" Warning {
                    means "A file beside the segments could not be read, and so was not checked."
                    comes "Permissions, or an error of the disk."
                    next "Run as the broker's user, or on a copy."
                }
            }
        }
    };
}
