"""A stand-in vendor for reviews of a change: answers by what its prompt holds, and says what it was sent.

    python -I -S vendor.py SCENARIO NAME

SCENARIO is a JSON file: ``names`` (every file of both sides), ``rules``: the first whose ``when`` stands
in the prompt and whose ``of`` is NAME or null decides: ``findings``, ``examined`` (null: the names that
stand in the prompt), ``raw`` with ``{answer}`` or ``{prompt}`` in it, ``exit`` status.  Of ``findings``
only those are told whose ``told`` stands in the prompt (null: always).  Every call appends a JSON line to
SCENARIO.calls: name, prompt, environment, what the working directory holds and what lies beside it.
"""

import json
import os
import re
import sys

scenario, name = sys.argv[1:3]
prompt = sys.stdin.buffer.read().decode("utf-8", "replace")


def names(top: str) -> "dict[str, str]":
    """Relative name -> ``file``, ``link`` or ``other``, and whether it can be written."""
    found = {}
    for folder, folders, files in os.walk(top):
        for one in files + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = os.path.join(folder, one)
            kind = "link" if os.path.islink(path) else "file" if os.path.isfile(path) else "other"
            mode = "" if kind == "link" or not os.lstat(path).st_mode & 0o222 else " writable"
            found[os.path.relpath(path, top)] = kind + mode
    return found


def beside() -> "dict[str, object]":
    """What lies in the folder that the prompt names, the one with CHANGE.diff."""
    told = re.findall(r"(/[^\s`'\",;]+)", prompt)
    folders = [folder for folder in told if os.path.isfile(os.path.join(folder, "CHANGE.diff"))]
    if not folders:
        return {}
    top = folders[0]
    texts = {}
    for one in ("CHANGE.diff", "CHANGED.tsv"):
        with open(os.path.join(top, one), encoding="utf-8", errors="replace") as file:
            texts[one] = file.read()
    return {"top": top, "names": names(top), **texts}


call = {"name": name, "prompt": prompt, "cwd": os.getcwd(), "tree": names(".")}
call |= {"env": dict(os.environ), "beside": beside()}
with open(scenario + ".calls", "a", encoding="utf-8") as calls:
    calls.write(json.dumps(call) + "\n")
with open(scenario, encoding="utf-8") as file:
    script = json.load(file)
for rule in script["rules"]:
    if rule.get("when", "") not in prompt or rule.get("of") not in (None, name):
        continue
    seen = rule.get("examined")
    if seen is None:
        seen = [one for one in script["names"] if one in prompt]
    told = [dict(f) for f in rule.get("findings", ()) if f.get("told") is None or f["told"] in prompt]
    for one in told:
        one.pop("told", None)
    answer = {
        "conclusion": "Went through the difference and what calls it.",
        "files": "those of the change",
        "open_items": "none",
        "verification": "followed every changed line by hand",
        "verdict": "request-changes" if told else "approve",
        "examined": seen,
        "findings": told,
    }
    answer.update(rule.get("changes", {}))
    raw = rule.get("raw", "{answer}").replace("{prompt}", prompt).replace("{answer}", json.dumps(answer))
    sys.stdout.buffer.write(raw.encode("utf-8", "surrogatepass"))
    sys.exit(rule.get("exit", 0))
sys.exit(9)
