"""Fail a deploy when the logs of the last hour show trouble: python gate.py PATH..."""

import sys

import jsdoctor

try:
    result = jsdoctor.check(files=sys.argv[1:])
except jsdoctor.UsageProblem as problem:
    sys.exit(f"{problem}\n{problem.hint}")

for found in result.at_least("error"):
    print(f"{found.rule.code} {found.finding.subject.label}: {found.finding.message}")

if result.at_least("error"):
    sys.exit(1)
if not result.conclusive or not any(verdict.subjects for verdict in result.report.verdicts):
    sys.exit(3)  # nothing was judged: that is no pass
