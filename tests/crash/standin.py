"""A stand-in reviewer for the crash campaign: slow enough to be killed in, the same answer every time.

    python standin.py LOG NAME

Appends ``start NAME CASE DISPATCH`` to LOG, then, when the whole answer is written, ``end ...``.
"""

import json
import os
import re
import sys
import time
import zlib

log, name = sys.argv[1:3]
prompt = sys.stdin.read()
case = (re.findall(r"case (\d\d) of", prompt) or ["??"])[0]
again = prompt.startswith("An earlier answer")


def note(word: str) -> None:
    """One line, at once, so that lines of many processes do not mix."""
    line = f"{word} {name} {case} {os.environ['PRUN_DISPATCH']}\n"
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line.encode())
    os.close(fd)


def finding(title: str, line: int, severity: str) -> dict[str, object]:
    """A finding about the application."""
    return {
        "title": title,
        "detail": f"The value of line {line} reaches a shell unquoted, so a caller can run any command.",
        "file": "src/app.py",
        "line": line,
        "end_line": line,
        "severity": severity,
        "category": "security",
        "confidence": 0.9,
        "quote": 'return os.system("sh -c " + command)' if line == 5 else "result = 0",
        "suggestion": None,
    }


note("start")
number = int(case)
time.sleep(0.1 + zlib.crc32(f"{name}{case}".encode()) % 300 / 1000)
found = [finding("Command injection through os.system", 5, "high" if number == 3 else "medium")]
found = found if number % 2 else []
if name == "left" and number % 5 == 0:
    found.append(finding("The sum begins with a constant that nobody checked", 9, "low"))
answer = {
    "conclusion": "Looked at the application.",
    "files": "src/app.py",
    "open_items": "none",
    "verification": "read line by line",
    "verdict": "comment" if found else "approve",
    "examined": ["src/app.py"],
    "findings": found,
}
if number == 3:
    answer["verdict"] = "request-changes"
if number == 7 and name == "right" and not again:
    answer["verdict"] = "perhaps"  # is asked again, and then answers as it should
sys.stdout.write(json.dumps(answer))
sys.stdout.flush()
note("end")
