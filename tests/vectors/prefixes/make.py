#!/usr/bin/env python3
"""Asks a real broker again what it says of each prefix here: make.py [VECTOR.json ...]   (all of them unless named)

A vector names an exhibit of fixtures/, how many bytes of each partition's segment are kept (always whole batches), and
what Kafka 4.4.0 said about the groups after it loaded just these. For another prefix, copy a vector and edit its cuts.
Needs what tests/broker/loadback needs; some 20 s each.
"""
import json, pathlib, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SEGMENT = "00000000000000000000.log"


def ask(exhibit, cuts):
    source = ROOT / "fixtures" / exhibit
    with tempfile.TemporaryDirectory() as scratch:
        log = pathlib.Path(scratch) / "log"
        for partition, end in cuts.items():
            name = f"__consumer_offsets-{partition}"
            (log / name).mkdir(parents=True)
            (log / name / SEGMENT).write_bytes((source / "log" / name / SEGMENT).read_bytes()[:end])
            shutil.copy(source / "log" / name / "partition.metadata", log / name)
        loadback = [ROOT / "tests/broker/loadback", "4.4.0", log, f"truth={source / 'truth.json'}", f"lines={scratch}/lines"]
        return json.loads(subprocess.run(loadback, check=True, stdout=subprocess.PIPE).stdout)


for path in [pathlib.Path(a) for a in sys.argv[1:]] or sorted(HERE.glob("*.json")):
    vector = json.loads(path.read_text())
    truth = ask(vector["exhibit"], vector["cuts"])
    for group in truth["groups"].values():
        for other_each_time in ("coordinator", "subtopologies"):
            (group.get("description") or {}).pop(other_each_time, None)
    vector["groups"] = truth["groups"]
    vector["topics"] = {name: topic for name, topic in truth["topics"].items() if not name.startswith("__")}
    path.write_text(json.dumps(vector, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")
    print(path.name)
