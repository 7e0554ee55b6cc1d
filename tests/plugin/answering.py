"""A stand-in executor for plugin tests: answers by what stands in the prompt.

    python answering.py SCENARIO NAME

SCENARIO is a JSON file: a list of rules {"when": text in the prompt, "of": NAME or null, ...}; the
first that fits decides: "payload" (an object) or "raw" (text), "sleep" seconds first, "exit" status.
Every call appends its name to SCENARIO.calls, so a test can count dispatches.
"""

import json
import os
import sys
import time

scenario, name = sys.argv[1:3]
prompt = sys.stdin.read()
with open(scenario + ".calls", "a", encoding="utf-8") as calls:
    calls.write(f"{name} {os.getpid()}\n")
with open(scenario, encoding="utf-8") as file:
    rules = json.load(file)
for rule in rules:
    if rule["when"] in prompt and rule.get("of") in (None, name):
        time.sleep(rule.get("sleep", 0))
        raw = rule["raw"] if "raw" in rule else json.dumps(rule["payload"])
        sys.stdout.buffer.write(raw.encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
        sys.exit(rule.get("exit", 0))
sys.exit(9)
