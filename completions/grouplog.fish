# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_grouplog_global_optspecs
    string join \n color= no-progress q/quiet v/verbose h/help V/version
end

function __fish_grouplog_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_grouplog_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_grouplog_using_subcommand
    set -l cmd (__fish_grouplog_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c grouplog -n "__fish_grouplog_needs_command" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_needs_command" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_needs_command" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_needs_command" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_needs_command" -s V -l version -d 'Print version'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "info" -d 'What is here: segments, offsets, times, bytes, codecs, magics; from batch headers only'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "dump" -d 'Print every record, decoded'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "groups" -d 'Which groups exist: type, state, members, offsets, last commit'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "describe" -d 'A group whole: its state, members and offsets, as a broker would show them, and what only the log tells'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "history" -d 'What happened to a group, told in the order of the log: who came and went, who got what, commits, resets'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "diff" -d 'What differs between two logs: replicas, a backup and the live one, before and after compaction, or two points of one log'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "salvage" -d 'A loadable copy of a damaged log with every record that can be read, and exactly what was lost'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "compact" -d 'What the broker\'s own cleaner would leave, in a new folder: the last record of every key'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "rewrite" -d 'An edited copy: groups dropped or renamed, offsets set, another partition count, codec, release or topic id'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "verify" -d 'Is every byte sound? Which damage is there, and whose offsets does it touch?'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "audit" -d 'What is wrong or stale: findings on members, groups, offsets, transactions and the log, and what to do'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "explain" -d 'What the code of a finding means, how it comes about, what to do'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "stats" -d 'Who fills the log: by group, topic partition, type, hour, producer, segment; what is dead; why it was not cleaned'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "txns" -d 'Transactions: open, committed, aborted; what hangs, and the command that ends it'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "partition-of" -d 'Which partition of __consumer_offsets a group hashes to'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "schema" -d 'Record types, their versions and fields'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "generate" -d 'Write the man pages or shell completions'
complete -c grouplog -n "__fish_grouplog_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l format -d 'How to print' -r -f -a "jsonl\t'One JSON object a line'
json\t'One JSON array'
table\t'A table for people'
csv\t'Comma-separated values with a header line'
kafka-dump-log\t'The text of kafka-dump-log.sh --deep-iteration --offsets-decoder'
kafka-formatter\t'The JSON of Kafka\'s console consumer formatters for this topic'"
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l limit -d 'Stop after N records (or batches, or entries)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l topic -d 'Only commits of this topic' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l type -d 'Only records of this type: a number or a name from \'grouplog schema\', or \'control\'' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l member -d 'Only records of this member id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l producer-id -d 'Only records of this producer id; -1 is none' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l offset -d 'Only log offsets from A up to but not including B; either may be left out' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l time -d 'Only record times from A up to but not including B: RFC 3339, epoch milliseconds, or a span before now (-2h)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l batches -d 'Print batch headers instead of records'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l side-files -d 'Print the files beside the segments instead: indexes, producer snapshots, checkpoints (one can also be given as PATH)'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l raw -d 'Add the bytes of key and value (base64)'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand dump" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l sort -d 'Order of the rows' -r -f -a "partition\t'By partition, then by name'
name\t'By name'
members\t'Most members first'
offsets\t'Most offsets first'
last-commit\t'Longest silent first'"
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l topic -d 'Only groups with an offset of this topic, or a member that subscribes to it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l member -d 'Only groups with this member id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l type -d 'Only groups of this type' -r -f -a "classic\t''
consumer\t''
share\t''
streams\t''"
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l state -d 'Only groups in this state' -r -f -a "Empty\t''
Stable\t''
Assigning\t''
Reconciling\t''
NotReady\t''"
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l inactive-for -d 'Only groups without a commit in this span before now (30d)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l at-offset -d 'The state after the record at log offset N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l at-time -d 'The state at a moment: after the last record in log order whose time is at or before it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l as-broker -d 'By the rules of this release where they differ from the newest' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l topics -d 'Names of topics that records hold only by id: lines of name,id,partitions' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand groups" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l retention -d 'How long a broker keeps offsets (offsets.retention.minutes): with it, when each offset will expire is shown' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l at-offset -d 'The state after the record at log offset N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l at-time -d 'The state at a moment: after the last record in log order whose time is at or before it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l as-broker -d 'By the rules of this release where they differ from the newest' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l topics -d 'Names of topics that records hold only by id: lines of name,id,partitions' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l all -d 'Every group'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l offsets -d 'Show the offsets'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l members -d 'Show the members'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l state -d 'Show the state'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l partition-summary -d 'Show what a broker would count on loading each partition, too'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand describe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l retention -d 'How long the broker kept offsets (offsets.retention.minutes): older ones are taken to have expired when they go' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l topic -d 'Of commits and removed offsets, only those of this topic' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l member -d 'Only the steps of this member id, and no commits' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l offset -d 'Only log offsets from A up to but not including B; either may be left out' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l time -d 'Only record times from A up to but not including B: RFC 3339, epoch milliseconds, or a span before now (-2h)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l at-offset -d 'The state after the record at log offset N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l at-time -d 'The state at a moment: after the last record in log order whose time is at or before it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l as-broker -d 'By the rules of this release where they differ from the newest' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l topics -d 'Names of topics that records hold only by id: lines of name,id,partitions' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l all -d 'Every group'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l commits -d 'Tell every commit, with how far it went'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l from -d 'Of one log: the earlier point, @N or a moment' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l to -d 'Of one log: the later point, @N or a moment; without it, the end' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l at-offset -d 'The state after the record at log offset N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l at-time -d 'The state at a moment: after the last record in log order whose time is at or before it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l as-broker -d 'By the rules of this release where they differ from the newest' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l topics -d 'Names of topics that records hold only by id: lines of name,id,partitions' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l digest -d 'Print digests of the state of each partition and group, and whether they are alike'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand diff" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l out -d 'The new log dir, which must not exist' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l also -d 'Fill what is lost from another copy: a partition folder, or a log dir that holds it (repeatable)' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l drop-unloadable -d 'Take out the records at which a group coordinator of this release (as \'verify --broker\' names it) would give up on the partition; each is listed' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l format -d 'How to print the report' -r -f -a "table\t'Text for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l dry-run -d 'Say what would be kept and lost, and write nothing; of --out only whether it could be made'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l mend -d 'Put back a single changed bit or byte where the CRC says which, and base offsets where the neighbours do'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l keep-doubtful -d 'Of batches of PATH whose CRC is wrong, keep the records that read whole; each is listed'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l include-leftovers -d 'Take offsets that the log lacks from .deleted and other leftover files too, also where nothing is damaged'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand salvage" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l out -d 'The new log dir, which must not exist' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l delete-retention -d 'How long tombstones and end markers stay behind the cleaning that meets them first (delete.retention.ms): 1d, 12h' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l segment-bytes -d 'Let segments grow to this many bytes (segment.bytes; suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l format -d 'How to print the report' -r -f -a "table\t'Text for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l dry-run -d 'Say what would stay and go, and write nothing; of --out only whether it could be made'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l include-active -d 'Compact the last segment too, which a broker would go on writing: for a broker that is stopped'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l force-past-open-transactions -d 'Compact what lies behind an open transaction too; its own records stay'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l skip-damage -d 'Leave damaged stretches out, and list them'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand compact" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l out -d 'The new log dir, which must not exist' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l log -d 'List every edit in FILE, which must not exist: one JSON object a line' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l drop-group -d 'Drop a group, all of its records; with * ? [ ] { } a glob (repeatable)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l keep-group -d 'Drop every group but this; with * ? [ ] { } a glob (repeatable)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l drop-topic -d 'Drop commits of a topic (repeatable)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l drop-type -d 'Drop records of a type: a number or a name from \'grouplog schema\' (repeatable)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l retention -d 'How long the broker keeps offsets (offsets.retention.minutes), for --drop-expired' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l drop-unloadable -d 'Drop the records at which a group coordinator of this release would give up on the partition' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l rename-group -d 'Rename a group, by name (repeatable); \\xNN stands for a byte, also of an equals sign in a name (\\x3d)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l rename-topic -d 'Rename a topic in commits, subscriptions and assignments (repeatable)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l set-offset -d 'Set a committed offset (repeatable): its latest commit is replaced, or one is appended where there is none; \\xNN stands for a byte, also of a slash in a topic (\\x2f)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l offsets-from -d 'Set the offsets that a file lists: lines group,topic,partition,offset (as kafka-consumer-groups exports them), or JSON objects of the four; --set-offset overrules it' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l partitions -d 'Spread the groups over N partitions, each to the one that it hashes to; logs are merged by time, and offsets count from 0' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l target -d 'Make it loadable by a release: values are converted to what it reads, and what it refuses all the same is dropped' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l codec -d 'Compress batches with another codec' -r -f -a "none\t''
gzip\t''
snappy\t''
lz4\t''
zstd\t''"
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l topic-id -d 'The topic\'s id in the new cluster, as \'kafka-topics --describe\' shows it: written to partition.metadata' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l segment-bytes -d 'Begin a new segment before one grows beyond so many bytes (suffixes K, M, G); else segments begin where they did' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l seed -d 'The same text gives the same names again; without it, nobody can tell them, nor make them again' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l format -d 'How to print the report' -r -f -a "table\t'Text for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l dry-run -d 'Say what would be done, and write nothing; of --out only whether it could be made'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l drop-expired -d 'Drop offsets that have expired under --retention, and empty groups with the last of theirs'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l new-cluster -d 'For another cluster: take out what only the old one knows. Topic ids and leader epochs go from commits, with which consumers would find no offset or wait for ever; batches get leader epoch 0, since followers copy none of a later epoch than theirs'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l upgrade -d 'Turn messages of magic 0 and 1 (before 0.11) into batches of magic 2'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l renumber -d 'Number offsets from 0, without gaps'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l redact -d 'Replace the names of groups, topics, members, clients, hosts and own assignors, and commits\' metadata, consistently and with their lengths kept, so that the log can be shown to others (but not what --log lists: it has the old names too)'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l skip-damage -d 'Leave out what is damaged, and list it, where otherwise the log would be refused'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l ignore-log-start -d 'Keep records before the log start that the log dir\'s log-start-offset-checkpoint names'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand rewrite" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l broker -d 'Would the group coordinator of this release load it? X.Y, X.Y.Z, 3.9-new (3.9\'s new coordinator), or all; repeatable' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l min-severity -d 'List only findings at least this bad; what is not listed does not make the exit status 3' -r -f -a "info\t'Everything'
warning\t'What is off, and what is broken'
error\t'What is lost or wrong'"
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l fast -d 'Check frames, CRCs and heads of batches only, not what is inside'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l format -d 'How to print' -r -f -a "table\t'Text for people: totals, then the worst first'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'
sarif\t'SARIF 2.1.0, for viewers and code scanning'"
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l only -d 'List only findings of this code; repeatable, or several with commas' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l ignore -d 'List no findings of this code; repeatable, or several with commas' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l min-severity -d 'List only findings at least this bad; what is not listed does not make the exit status 3' -r -f -a "info\t'Everything'
warning\t'What is off, and what is broken'
error\t'What is lost or wrong'"
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l baseline -d 'List only what an earlier run did not: its output with --format jsonl. The same are findings of one code on the same partition, group, topic and partitions, member, transaction, which are not worse and no more than they were. How many were left out is said on stderr' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l stale-after -d 'Silence for so long is long: empty groups, members that do not commit, migrations that stand still' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l retention -d 'How long a broker keeps offsets (offsets.retention.minutes); without it only commits that say so themselves expire' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l max-transaction-timeout -d 'The longest timeout a producer may ask for (transaction.max.timeout.ms): a transaction that is open longer hangs' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l log-ends -d 'Where the logs of topics begin and end: lines of topic,partition,start,end or of kafka-get-offsets.sh' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l offsets-partitions -d 'How many partitions __consumer_offsets has (offsets.topic.num.partitions), if it cannot be told from the folders' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l bootstrap-server -d 'What the commands in the findings name as broker' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l at-offset -d 'The state after the record at log offset N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l at-time -d 'The state at a moment: after the last record in log order whose time is at or before it' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l as-broker -d 'By the rules of this release where they differ from the newest' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l topics -d 'Names of topics that records hold only by id: lines of name,id,partitions' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -l format -d 'How to print' -r -f -a "table\t'Text for people'
json\t'One JSON document'"
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l by -d 'Count by this; repeatable [default: type and group; in JSON all]' -r -f -a "type\t'Record type, and what is no record'
group\t'Group'
partition\t'Group, topic and partition that offsets are committed for'
hour\t'Hour'
producer\t'Producer id'
segment\t'Segment'"
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l top -d 'Show the N largest; 0 is all [default: 20, of types all]' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l sample -d 'Read only a share of the log (1%, 1/50, 0.02), and estimate' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l time -d 'Only batches whose latest record is from A up to but not including B: RFC 3339, epoch milliseconds, or a span before now (-2h)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l min-cleanable-dirty-ratio -d 'min.cleanable.dirty.ratio, for --why-not-cleaned' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l min-compaction-lag -d 'min.compaction.lag.ms, for --why-not-cleaned' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l max-compaction-lag -d 'max.compaction.lag.ms, for --why-not-cleaned [default: none]' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l delete-retention -d 'delete.retention.ms' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l segment-bytes -d 'segment.bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l headers-only -d 'Read only the heads of batches: by segment, hour and producer'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l closed-only -d 'Count as dead only what a broker\'s cleaner would take: nothing of the last segment'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l why-not-cleaned -d 'Say why each partition is not cleaned, by the broker\'s own arithmetic'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand stats" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l partition -d 'Of a log dir, read only partition N; of any other folder or file, take it for partition N' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l max-inflated -d 'Inflate a batch to at most this many bytes (suffixes K, M, G)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l max-transaction-timeout -d 'The longest that the broker lets a producer ask for (transaction.max.timeout.ms)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l last -d 'Of the transactions that ended, show the last N of a partition [default: 20 in the table, else all]' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l bootstrap-server -d 'The broker to name in the commands that are shown' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l group -d 'Only this group; with * ? [ ] { } a glob, a backslash before one takes it as it is. \'\' is the empty group id' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l group-regex -d 'Only groups that this regular expression matches whole' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l producer-id -d 'Only those of this producer id; with --producers, only these' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l now -d 'What now is, for whatever depends on the clock: RFC 3339 or epoch milliseconds' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l threads -d 'How many threads to use; partitions are read in parallel' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l include-stray -d 'Read folders named -delete, -future or -stray too'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l open -d 'Only those that are still open'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l hanging -d 'Only those that are open for longer than a producer may ask for'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l producers -d 'Show what a broker remembers of producers instead, as kafka-transactions.sh describe-producers does; not by group'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l ignore-log-start -d 'Begin at the first record, whatever the log dir\'s log-start-offset-checkpoint says'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand txns" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -l partitions -d 'How many partitions __consumer_offsets has (offsets.topic.num.partitions)' -r
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -l log-dir -d 'Count the partitions in this log dir (repeat it for a broker with several disks)' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -l format -d 'How to print' -r -f -a "table\t'A table for people'
json\t'One JSON document'
jsonl\t'One JSON object a line'
csv\t'Comma-separated values with a header line'"
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand partition-of" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -l format -d 'How to print' -r -f -a "table\t'Text for people'
json\t'One JSON document'"
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -l out -d 'The folder to write to; it is made if it does not exist' -r -F
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -l color -d 'Colour: auto is a terminal without NO_COLOR' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -l no-progress -d 'Show no progress bar on long work'
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -s q -l quiet -d 'Say nothing on stderr but errors'
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -s v -l verbose -d 'Say more on stderr: which files were read, and which were left out'
complete -c grouplog -n "__fish_grouplog_using_subcommand generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "info" -d 'What is here: segments, offsets, times, bytes, codecs, magics; from batch headers only'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "dump" -d 'Print every record, decoded'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "groups" -d 'Which groups exist: type, state, members, offsets, last commit'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "describe" -d 'A group whole: its state, members and offsets, as a broker would show them, and what only the log tells'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "history" -d 'What happened to a group, told in the order of the log: who came and went, who got what, commits, resets'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "diff" -d 'What differs between two logs: replicas, a backup and the live one, before and after compaction, or two points of one log'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "salvage" -d 'A loadable copy of a damaged log with every record that can be read, and exactly what was lost'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "compact" -d 'What the broker\'s own cleaner would leave, in a new folder: the last record of every key'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "rewrite" -d 'An edited copy: groups dropped or renamed, offsets set, another partition count, codec, release or topic id'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "verify" -d 'Is every byte sound? Which damage is there, and whose offsets does it touch?'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "audit" -d 'What is wrong or stale: findings on members, groups, offsets, transactions and the log, and what to do'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "explain" -d 'What the code of a finding means, how it comes about, what to do'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "stats" -d 'Who fills the log: by group, topic partition, type, hour, producer, segment; what is dead; why it was not cleaned'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "txns" -d 'Transactions: open, committed, aborted; what hangs, and the command that ends it'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "partition-of" -d 'Which partition of __consumer_offsets a group hashes to'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "schema" -d 'Record types, their versions and fields'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "generate" -d 'Write the man pages or shell completions'
complete -c grouplog -n "__fish_grouplog_using_subcommand help; and not __fish_seen_subcommand_from info dump groups describe history diff salvage compact rewrite verify audit explain stats txns partition-of schema generate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
