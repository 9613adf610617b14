"""Runs commands in turns with the yardstick C and prints what they cost. Called by benches/run, which builds first."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor

import answers

Row = namedtuple("Row", "name quantity budgets rss check args")
Cost = namedtuple("Cost", "cpu wall rss status")
PROFILES = ["typical", "flood", "wide"]
# What kafka-run-class sets for a tool when its user sets nothing.
KAFKA_JVM = "-Xmx256M -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent".split()
KAFKA_TARGET = 60


def rows(path):
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            name, quantity, budgets, rss, check, args = [f.strip() for f in line.split("|")]
            yield Row(name, quantity, [float(b) for b in budgets.split()], int(rss), check, args.split())


def run(argv, pipe=False):
    """One whole process: wait4 tells its own CPU time and peak memory, whatever its children or readers take."""
    reader = None
    out = err = os.open(os.devnull, os.O_RDWR)
    if pipe:
        reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        out = reader.stdin.fileno()
    begin = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, err, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)])
    if reader:
        reader.stdin.close()
        reader.wait()
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    os.close(err)
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))


def fill(args, partition, tmp):
    """The arguments for one run; a path for output is new each time."""
    shutil.rmtree(os.path.join(tmp, "out"), ignore_errors=True)
    return [partition if a == "{}" else os.path.join(tmp, "out") if a == "{out}" else a for a in args]


def against(c, argv, rounds, pipe=False):
    """C and the command in turns, after one warm-up of both. argv is a function, called anew for each run."""
    pairs = []
    for turn in range(rounds + 1):
        first, second = run(c), run(argv(), pipe)
        if first.status != 0:
            sys.exit(f"the yardstick fails: {' '.join(c)}")
        if second.status != 0:
            return second.status
        if turn > 0:
            pairs.append((first, second))
    return pairs


def table(header, lines):
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    for line in [header, *lines]:
        print("  ".join([line[0].ljust(widths[0]), *(f.rjust(w) for f, w in zip(line[1:], widths[1:]))]).rstrip())


def judge(row, value, rss, budget, wrong):
    if wrong:
        return "WRONG"
    if budget is not None and value > budget:
        return "SLOW"
    return "FAT" if rss > row.rss else "pass"


def measured(row, pairs, budget, wrong):
    """One line of the table. The least over the least is what the budgets are made of; the median shows the noise."""
    pick = (lambda cost: cost.cpu) if row.quantity == "cpu" else (lambda cost: cost.wall)
    each = sorted(pick(b) / pick(a) for a, b in pairs)
    least = min(pick(b) for _, b in pairs) / min(pick(a) for a, _ in pairs)
    wall = statistics.median(b.wall for _, b in pairs)
    cpu = statistics.median(b.cpu for _, b in pairs)
    rss = max(b.rss for _, b in pairs)
    verdict = judge(row, least, rss, budget, wrong) if row.rss else ""
    return [row.name, row.quantity, f"{least:.2f}", f"{statistics.median(each):.2f}", f"{each[0]:.2f}-{each[-1]:.2f}", f"{budget:.2f}" if budget else "-",
            f"{cpu:.3f}", f"{wall:.3f}", f"{rss:.0f}", str(row.rss or "-"), verdict]


def check_apart(*args):
    """In a process of its own: an answer can be big, and what is measured later is never shown below this one's peak."""
    with ProcessPoolExecutor(max_workers=1) as pool:
        return pool.submit(check, *args).result()


def check(row, grouplog, args, partition, expected):
    if row.check == "-":
        return None
    try:
        return getattr(answers, row.check)(grouplog, [partition if a == "{}" else a for a in args], partition, expected)
    except (ValueError, KeyError, TypeError) as e:
        return f"{type(e).__name__}: {e}"


def folder(path, opts, tmp):
    """Measures every row on one log; true if all is as it must be."""
    expected = json.load(open(os.path.join(path, "expected.json")))
    partition = os.path.join(path, "__consumer_offsets-0")
    c = [opts.yardstick, partition]
    which = PROFILES.index(expected["profile"]) if expected["profile"] in PROFILES else None
    lines, notes, best = [], [], {}
    again = against(c, lambda: c, opts.rounds)
    lines.append(measured(Row("C again", "cpu", [], 0, "-", []), again, None, None))
    for row in rows(opts.commands):
        if opts.only and not any(word in row.name for word in opts.only):
            continue
        pairs = against(c, lambda: [opts.grouplog, *fill(row.args, partition, tmp)], opts.rounds, row.quantity == "pipe")
        if isinstance(pairs, int):
            lines.append([row.name, row.quantity, *["-"] * 8, "not there" if pairs == 2 else "WRONG"])
            if pairs != 2:
                notes.append(f"{row.name}: exit status {pairs}")
            continue
        wrong = check_apart(row, opts.grouplog, row.args, partition, expected)
        if wrong:
            notes.append(f"{row.name}: {wrong}")
        lines.append(measured(row, pairs, row.budgets[which] if which is not None else None, wrong))
        best[row.name] = min(b.cpu for _, b in pairs)
    print(f"\n{path}: {expected['bytes'] / (1 << 20):.0f} MiB, {expected['records']} records in {expected['batches']} batches; {opts.rounds} rounds")
    table(["", "of", "least/C", "median/C", "min-max", "budget", "CPU s", "wall s", "RSS MiB", "budget", ""], lines)
    for note in notes:
        print(f"  {note}")
    good = not any(line[-1] in ("WRONG", "SLOW", "FAT") for line in lines)
    if opts.kafka:
        good &= kafka(partition, best, opts)
    return good


def kafka(partition, best, opts):
    """The tool that people use today, on the same segments."""
    files = ",".join(sorted(os.path.join(partition, f) for f in os.listdir(partition) if f.endswith(".log")))
    tool = [shutil.which("java"), *KAFKA_JVM, "-cp", f"{opts.kafka}/*", "org.apache.kafka.tools.DumpLogSegments", "--files", files]
    lines = []
    deep, shallow = ["--offsets-decoder", "--print-data-log", "--deep-iteration"], []
    ran = {}
    # Each beside what goes as deep: batches and their CRCs, or every field of every record.
    for name, flags in [("dump", deep), ("verify", deep), ("verify --fast", shallow)]:
        if name not in best:
            continue
        if len(flags) not in ran:
            ran[len(flags)] = [run(tool + flags) for _ in range(opts.kafka_rounds)]
        costs = ran[len(flags)]
        if any(cost.status for cost in costs):
            lines.append([f"kafka-dump-log {' '.join(flags)}", "fails", "", "", "", ""])
            continue
        cost = min(costs)
        times = cost.cpu / best[name]
        lines.append([" ".join(["kafka-dump-log", *flags]), f"{cost.cpu:.1f}", f"{cost.wall:.1f}", f"{cost.rss:.0f}", f"{times:.0f} x {name}", "pass" if times >= KAFKA_TARGET else "SLOW"])
    if lines:
        table(["", "CPU s", "wall s", "RSS MiB", f"at least {KAFKA_TARGET}", ""], lines)
    return all(line[-1] == "pass" for line in lines)


def main():
    p = argparse.ArgumentParser(prog="benches/run", description="Measures grouplog against C on logs made by benches/make-logs.")
    p.add_argument("folders", nargs="+", metavar="FOLDER", help="a folder with __consumer_offsets-0 and expected.json")
    p.add_argument("--rounds", type=int, default=5, help="pairs of runs after the warm-up (5)")
    p.add_argument("--only", action="append", metavar="WORD", help="only rows whose name has WORD in it (repeatable)")
    p.add_argument("--kafka", metavar="JARS", help="also run Kafka's own dump tool (benches/run takes it without the folder)")
    p.add_argument("--kafka-rounds", type=int, default=1, help="how often (1)")
    p.add_argument("--grouplog", required=True, help="the binary to measure")
    p.add_argument("--yardstick", required=True, help="C")
    p.add_argument("--commands", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "commands"), help="the table of commands")
    opts = p.parse_args()
    tmp = tempfile.mkdtemp(dir=os.environ.get("BENCH_TMP"))
    try:
        good = [folder(path.rstrip("/"), opts, tmp) for path in opts.folders]
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
