"""A stand-in executor for plugin tests: answers by what stands in the prompt.

    python answering.py SCENARIO NAME

SCENARIO is a JSON file: a list of rules {"when": text in the prompt, "of": NAME or null, ...}; the
first that fits decides: "payload" (an object) or "raw" (text), "sleep" seconds first, "exit" status.
A rule with "first": N holds for the first N calls of NAME only.  "remove" and "spoil" name a folder to
move away and a file to write into first; "bar" a run directory in which a folder takes a file's place.
"instead" of an answer: "silence" or "heartbeat"; what comes "after" it: "stay", or a "grandchild" that
holds the output.  "<cwd>" in an answer becomes the working directory.  Every call appends its name to
SCENARIO.calls, so a test can count dispatches.
"""

import glob
import json
import os
import sys
import time

LIFE = 120
"""Seconds after which whatever a test left behind ends by itself."""


def instead(how: str) -> None:
    for _ in range(LIFE * 10):
        time.sleep(0.1)
        if how == "heartbeat":
            print("still here", flush=True)
    sys.exit(8)


def after(how: str | None) -> None:
    if how == "grandchild" and not os.fork():
        os.setsid()
        how = "stay"
    if how == "stay":
        time.sleep(LIFE)


scenario, name = sys.argv[1:3]
prompt = sys.stdin.read()
with open(scenario + ".calls", "a", encoding="utf-8") as calls:
    calls.write(f"{name} {os.getpid()}\n")
with open(scenario + ".calls", encoding="utf-8") as calls:
    count = [line.split()[0] for line in calls].count(name)
with open(scenario, encoding="utf-8") as file:
    rules = json.load(file)
for rule in rules:
    if rule["when"] in prompt and rule.get("of") in (None, name) and count <= rule.get("first", count):
        time.sleep(rule.get("sleep", 0))
        if "remove" in rule:
            os.rename(rule["remove"], rule["remove"] + ".gone")
        if "spoil" in rule:
            os.chmod(rule["spoil"], 0o600)
            with open(rule["spoil"], "a", encoding="utf-8") as file:
                file.write("# spoilt")
        if "bar" in rule:
            [run] = glob.glob(rule["bar"])
            os.mkdir(os.path.join(run, "examination.json"))
        if "instead" in rule:
            instead(rule["instead"])
        raw = rule["raw"] if "raw" in rule else json.dumps(rule["payload"])
        raw = raw.replace("<cwd>", os.getcwd())
        sys.stdout.buffer.write(raw.encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
        after(rule.get("after"))
        sys.exit(rule.get("exit", 0))
sys.exit(9)
