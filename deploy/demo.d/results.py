"""The demo's last table, from `bulkhead executions list --json` on stdin: one line an execution
that has a "demo" label, oldest first."""
import json
import sys

rows = [("WHAT", "AGENT", "TIER", "TECHNOLOGY", "OUTCOME", "EXIT", "START ms", "RUN ms")]
for execution in reversed(json.load(sys.stdin)["data"]):
    if "demo" not in execution["labels"]:
        continue
    tier, timing = execution["tier"], execution["timing"]
    ending = execution["exit_code"] if execution["signal"] is None else execution["signal"]
    rows.append((execution["labels"]["demo"], execution["agent"], tier["effective"],
                 tier["technology"], execution["outcome"], "-" if ending is None else ending,
                 timing["provision_ms"], timing["run_ms"]))
widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
for row in rows:
    print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
