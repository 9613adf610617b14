"""Is the answer right? Each check runs a command once, outside the clock, and compares it with BigLog's expected.json.

A check gets (grouplog, arguments, partition folder, expected) and returns None, or what is wrong.
"""
import json
import os
import subprocess
import tempfile

MASK = (1 << 64) - 1


def output(grouplog, *args):
    done = subprocess.run([grouplog, *args], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(f"exit status {done.returncode}")
    return done.stdout


def document(grouplog, verb, partition):
    return json.loads(output(grouplog, verb, "--format", "json", partition))


def differs(found, expected, names):
    wrong = [f"{n} is {found.get(n)}, not {expected[n]}" for n in names if found.get(n) != expected[n]]
    return "; ".join(wrong) or None


def dump(grouplog, args, partition, expected):
    """One line a record, markers too; the whole output is too big to keep."""
    with subprocess.Popen([grouplog, *args], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as p:
        lines = sum(piece.count(b"\n") for piece in iter(lambda: p.stdout.read(1 << 20), b""))
    if p.returncode != 0:
        return f"exit status {p.returncode}"
    want = expected["records"] + expected["controlBatches"]
    return None if lines == want else f"{lines} lines, not {want}"


def one_partition(found):
    """The one partition of an `info` or `stats` document, whatever stands around it."""
    while isinstance(found, dict) and "endOffset" not in found:
        found = found.get("partitions")
    if isinstance(found, list):
        if len(found) != 1:
            raise ValueError(f"{len(found)} partitions, not 1")
        found = found[0]
    return found or {}


def info(grouplog, args, partition, expected):
    return differs(one_partition(document(grouplog, "info", partition)), expected, ["bytes", "endOffset"])


def stats(grouplog, args, partition, expected):
    return differs(one_partition(document(grouplog, "stats", partition)), expected, ["bytes", "endOffset"])


def sound(grouplog, args, partition, expected):
    """Nothing to report, and every byte and record was looked at."""
    done = subprocess.run([grouplog, *args, "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    said = done.stderr.decode()
    if done.returncode != 0:
        return f"exit status {done.returncode}"
    want = [f" {expected['bytes']} bytes,"]
    if "--fast" not in args:
        want.append(f" {expected['records'] + expected['controlBatches']} records")
    missing = [words for words in want if words not in said]
    return f"{missing} not in: {said.strip()}" if missing else None


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & MASK
    return h


def state(groups, expected):
    """The live offsets, each by its digest, and how many groups there are."""
    live = total = 0
    for g in groups:
        for o in g["offsets"]:
            if o["offset"] is None:
                continue
            live += 1
            text = g["group"].encode() + b"\0" + o["topic"].encode() + b"\0"
            total += fnv(text + o["partition"].to_bytes(4, "big") + o["offset"].to_bytes(8, "big", signed=True) + o["metadata"].encode())
    digest = f"{total & MASK:016x}"
    if live != expected["liveOffsets"]:
        return f"{live} live offsets, not {expected['liveOffsets']}"
    if digest != expected["offsetsDigest"]:
        return f"offsets digest {digest}, not {expected['offsetsDigest']}"
    # A simple group that holds nothing may be left out.
    if not expected["groupsWithState"] <= len(groups) <= expected["groups"]:
        return f"{len(groups)} groups, not {expected['groupsWithState']} to {expected['groups']}"
    return None


def groups(grouplog, args, partition, expected):
    return state(document(grouplog, "groups", partition), expected)


def compact(grouplog, args, partition, expected):
    """The copy says the same of its groups as the log did."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_TMP")) as tmp:
        out = os.path.join(tmp, "out")
        output(grouplog, *[out if a == "{out}" else a for a in args])
        return state(document(grouplog, "groups", out), expected)
