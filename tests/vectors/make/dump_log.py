"""Makes ../dump-log: segments with what no broker writes, and what the dump tool of Kafka 4.4.0 prints of them on stdout.

usage: dump_log.py KAFKA DEST    (KAFKA: ../shared/kafka/kafka; needs a JDK). DEST/CASE/{__consumer_offsets-0/*.log,dump-log.txt}
"""
import gzip, os, struct, subprocess, sys, zlib

KAFKA, DEST = os.path.abspath(sys.argv[1]), sys.argv[2]
TABLE = []
for i in range(256):
    c = i
    for _ in range(8): c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
    TABLE.append(c)


def crc32c(b):
    c = 0xFFFFFFFF
    for x in b: c = TABLE[(c ^ x) & 255] ^ (c >> 8)
    return c ^ 0xFFFFFFFF


def varint(n):
    n = ((n << 1) ^ (n >> 63)) & ((1 << 64) - 1)
    o = b""
    while n >= 128: o += bytes([n & 127 | 128]); n >>= 7
    return o + bytes([n])


def counted(b): return varint(-1) if b is None else varint(len(b)) + b


def rec(delta, key, value, headers=(), time=0):
    b = b"\0" + varint(time) + varint(delta) + counted(key) + counted(value) + varint(len(headers)) + b"".join(counted(k) + counted(v) for k, v in headers)
    return varint(len(b)) + b


def batch(base, recs, attr=0, pid=-1, epoch=-1, seq=-1, last=None, base_time=1000, max_time=1000, count=None, crc=None, leader=0, body=None):
    n = len(recs)
    covered = struct.pack(">hiqqqhii", attr, n - 1 if last is None else last, base_time, max_time, pid, epoch, seq, n if count is None else count)
    covered += b"".join(recs) if body is None else body
    b = struct.pack(">ibI", leader, 2, crc32c(covered) if crc is None else crc) + covered
    return struct.pack(">qi", base, len(b)) + b


def msg(offset, key, value, magic=1, attr=0, time=1000, crc=None):
    field = lambda b: struct.pack(">i", -1) if b is None else struct.pack(">i", len(b)) + b
    covered = struct.pack(">bb", magic, attr) + (struct.pack(">q", time) if magic else b"") + field(key) + field(value)
    b = struct.pack(">I", zlib.crc32(covered) if crc is None else crc) + covered
    return struct.pack(">qi", offset, len(b)) + b


H = lambda n: struct.pack(">h", n)
I = lambda n: struct.pack(">i", n)
Q = lambda n: struct.pack(">q", n)
S = lambda s: H(len(s)) + s
B = lambda b: I(len(b)) + b


def commit_key(group=b"g", topic=b"t", partition=0, kind=1): return H(kind) + S(group) + S(topic) + I(partition)


def commit(version=3, metadata=b""):
    return {0: H(0) + Q(42) + S(metadata) + Q(5), 1: H(1) + Q(42) + S(metadata) + Q(5) + Q(6), 3: H(3) + Q(42) + I(7) + S(metadata) + Q(5)}[version]


def group_key(kind, group=b"g"): return H(kind) + S(group)


def group(protocol_type, *members):
    r = H(3) + S(protocol_type) + I(1) + S(b"range") + S(b"m") + Q(9) + I(len(members))
    return r + b"".join(S(b"m") + H(-1) + S(b"c") + S(b"/h") + I(1) + I(2) + B(s) + B(a) for s, a in members)


K, V = commit_key(), commit()
GOOD = batch(0, [rec(0, K, V)])
NEXT = batch(3, [rec(0, K, V)])
EMPTY, NULL = I(0), I(-1)
ODD_NAME = b"a\xffb\xc3\x28\xed\xa0\x80\xf0\x9f\x9a\x80\xe2\x80\xa8\x7f\x01\x1f\"\\/\n\r\t\x08\x0c<>&\xc2\x85\xef\xbf\xbf"


def singles(pairs): return b"".join(batch(i, [rec(0, k, v)]) for i, (k, v) in enumerate(pairs))


CASES = {
    # The offsets of these are named in tests/dump_log_text.rs.
    "records": singles([
        (b"", b"x"), (b"\0", b"x"), (H(99), b"xx"), (group_key(99), None), (group_key(-5), b"x"),
        (group_key(9), H(0) + b"\1\0"), (group_key(9), None), (group_key(18), H(0) + b"\1\0"), (group_key(24), None),
        (K[:5], V), (K[:-1], None), (K, b""), (K, b"\0"), (K, H(9) + b"abc"), (K, H(-1) + b"abc"),
        (K, V[:9]), (K, V[:15]), (K, V[:-3]), (K + b"zz", V), (K, V + b"zz"),
        (commit_key(kind=0), commit(0)), (commit_key(kind=0), commit(1)), (commit_key(kind=0), None),
        (commit_key(ODD_NAME), commit(metadata="grüße".encode())), (commit_key(b""), V),
        (H(1) + H(-1), V), (H(1) + H(-2), V), (H(1) + H(1000) + b"a", V),
        (group_key(2), group(b"consumer", (b"", b""))[:-2]),
        (group_key(2), H(4) + b"\x09consumer" + I(1) + b"\0\0" + Q(1) + b"\1\1\5\2hi"),
        (group_key(3), H(0) + I(5) + b"\0"), (group_key(3), H(0) + I(5) + b"\1\x09\1x"), (group_key(3), H(0) + I(5) + b"\1\0\x08" + Q(-3)),
        (group_key(3), H(1) + I(5) + b"\0"), (group_key(3), H(0) + I(5) + b"\2\1\1x\1\1x"), (group_key(3), H(0) + I(5) + b"\2\5\1x\3\1x"),
        (group_key(3), H(0) + I(5) + b"\1\0\4xxxx"), (group_key(3), H(0) + I(5) + b"\1\0\x09xxxxxxxxx"), (group_key(3), H(0) + I(5) + b"\xff" * 6),
    ]),
    "payloads": singles([(group_key(2), v) for v in [
        group(b"consumer", (b"", b"")),
        group(b"consumer", (H(0) + EMPTY + NULL, H(0) + EMPTY + EMPTY), (b"", b"\0")),
        group(b"consumer", (H(9) + EMPTY + NULL + b"\0" * 10, H(1) + I(1) + S(b"a\"\x01\xff") + I(2) + I(5) + I(4) + NULL + b"trail")),
        group(b"consumer", (H(3) + I(1) + S(b"tt") + B(b"ud") + EMPTY + I(3) + S(b"r"), H(0) + I(1))),
        group(b"Consumer", (H(3) + I(1), b"")),
        group(b"connect", (H(1) + b"ab", b"x")),
        # Text that looks like the fields that are replaced.
        group(b"consumer", (H(0) + I(1) + S(b'"subscription":"x","assignment":"y"') + NULL, b"")),
        *[group(b"consumer", (H(n) + I(1) + S(b"t") + NULL + I(1) + S(b"t") + I(1) + I(0) + I(7) + S(b"rk"), H(n) + I(1) + S(b"t") + I(1) + I(0) + NULL),
                (H(n) + EMPTY + NULL + EMPTY + I(7) + H(-1) + b"zz", H(n) + EMPTY + NULL + b"zz"), (H(n) + EMPTY + NULL, H(n))) for n in (0, 1, 2, 3, 4, 9, 32767, -1, -2)],
    ]]),
    "names": singles([(commit_key(g), V) for g in (b"\xed\xa0\x80", b"\xed\xa0\x80" * 2, b"\xed\xa0", b"\xed\xa0x", b"\xed", b"a\xed\xbf\xbfb", b"\xf0\x9f\x9a", b"\xf0\x9f\x9ax",
        b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xe2\x82x", b"\x80\x80", b"\xff\xfe", b"\xe2\xe2\x82\xac",
        b"\xed\xa0\xed", b"\xed\xa0\xa0\xa0", b"\xed\x80", b"\xf0\x9f\xff")]),
    "batches": b"".join([
        batch(0, [rec(0, K, V, [(b"a", b"1"), (b"b", None), ("ü,]".encode(), b""), (b"a\xff", b"")])]),
        batch(1, [rec(0, K, V), rec(1, K, V, time=-7), rec(3, K, V, time=9)], seq=2**31 - 2, last=5, pid=5, epoch=2, attr=8, max_time=1009),
        batch(7, [rec(0, K, V), rec(1, K, None, time=-7)], seq=0, pid=5, epoch=2, attr=0x50, max_time=1009, leader=-1),
        batch(9, [], pid=5, epoch=2, seq=3, last=4),
        batch(14, [rec(0, H(0) + H(0), H(0) + I(7))], attr=0x30, pid=9, epoch=1),
        batch(15, [rec(0, H(0) + H(1), H(0) + I(7))], attr=0x70, pid=9, epoch=1),
        batch(16, [rec(0, H(0) + H(1), H(1) + I(7) + b"zz")], attr=0x30, pid=9, epoch=1),
        batch(17, [rec(0, H(1) + H(1) + b"zz", H(0) + I(7))], attr=0x30, pid=9, epoch=1),
        batch(18, [rec(0, H(0) + H(99), H(0) + I(7))], attr=0x20),
        batch(19, [rec(0, H(0) + H(-1), None)], attr=0x20),
        batch(20, [rec(0, K, V)], crc=5),
        batch(21, [rec(0, K, V)], attr=1, body=gzip.compress(rec(0, K, V), mtime=0)),
    ]),
    "messages": b"".join([
        msg(0, K, commit(1)), msg(2, K, None), msg(3, K, commit(1), crc=7), msg(4, K, commit(0), magic=0), msg(5, K, None, magic=0, crc=9), msg(6, K, commit(1), attr=8),
        *[msg(o, None, gzip.compress(msg(0, K, commit(1), time=5) + msg(1, K, None, time=6, crc=3) + msg(3, K, commit(1), time=7), mtime=0), attr=a, time=t) for o, a, t in ((10, 1, 7), (14, 9, 77))],
        msg(16, None, gzip.compress(msg(15, K, commit(0), magic=0) + msg(16, K, None, magic=0), mtime=0), attr=1, magic=0),
        msg(17, b"key", gzip.compress(msg(0, K, commit(0)), mtime=0), attr=1, crc=44),
        msg(18, commit_key(kind=0), commit(0), magic=0), msg(19, group_key(77), None, magic=0),
    ]),
    "cut": GOOD + NEXT[:-5], "stray": GOOD + b"\0" * 6, "junk": GOOD + b"\x11" * 100, "empty": b"",
    # At these the tool ends with an exception.
    "zeros": GOOD + b"\0" * 100,
    "hole": GOOD + b"\0" * 64 + NEXT,
    "null-key": GOOD + batch(1, [rec(0, None, b"x")]) + NEXT,
    "null-key-magic-1": msg(0, K, commit(1)) + msg(1, None, b"x"),
    "no-gzip": GOOD + batch(1, [rec(0, K, V)], attr=1) + NEXT,
    "no-codec": GOOD + batch(1, [rec(0, K, V)], attr=7) + NEXT,
    "no-record": GOOD + batch(1, [b"\x10" + b"\xff" * 8, rec(1, K, V)]) + NEXT,
    "count-above": GOOD + batch(1, [rec(0, K, V)], count=2) + NEXT,
    "count-below": GOOD + batch(1, [rec(0, K, V), rec(1, K, V)], count=1, last=1) + NEXT,
    "no-control-key": GOOD + batch(1, [rec(0, None, b"")], attr=0x20) + NEXT,
    "short-control-key": GOOD + batch(1, [rec(0, b"\0", b"")], attr=0x20) + NEXT,
    "short-marker": GOOD + batch(1, [rec(0, H(0) + H(1), b"\0")], attr=0x20) + NEXT,
}
for name, log in CASES.items():
    folder = os.path.join(DEST, name, "__consumer_offsets-0")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "00000000000000000000.log"), "wb") as o: o.write(log)
    tool = [KAFKA, "run", "4.4.0", "dump-log", "--deep-iteration", "--print-data-log", "--offsets-decoder", "--files", "__consumer_offsets-0/00000000000000000000.log"]
    out = subprocess.run(tool, cwd=os.path.join(DEST, name), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    with open(os.path.join(DEST, name, "dump-log.txt"), "wb") as o: o.write(out)
