"""docs/architecture.md from the code: the packages with their imports, and the walks of five kinds of data.

    python -m tools.architecture_page

A hop of a walk is a function that the one before it calls; `walk_problems` reads the calls from the code. A hop with
`*` is called through a registry or an interface, where no name shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from tests.servers import ROOT

PLACE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "jsdoctor"
LAYERS = (("cli",), ("app",), ("render", "remedy", "collect", "demo"), ("engine",), ("checks", "parse"), ("model",))
PURPOSES = {
    "cli": "the command line: options, confirmation, console, exit codes",
    "app": "what the commands do, with typed options; the Python interface",
    "render": "reports and plans in their formats",
    "remedy": "fixes: plans, journals, and families of actions",
    "collect": "live servers, bundles, logs, packets, files",
    "demo": "the embedded server of `jsdoctor demo`",
    "engine": "rules loaded, selected and evaluated; incidents, diagnosis, verdict",
    "checks": "the predicates, a module per rule",
    "parse": "raw replies, log lines, packets and manifests to values of the model",
    "model": "frozen values that all layers share",
}


@dataclass(frozen=True)
class Walk:
    """The way of one kind of data, from where it enters to its finding or its write."""

    title: str
    text: str
    hops: tuple[str, ...]

    def modules(self) -> int:
        return len({module_of(hop) for hop in self.hops})

    def climbs(self) -> int:
        """How often it goes from a layer to a higher one: results that return to the caller."""
        depth = {name: number for number, layer in enumerate(LAYERS) for name in layer}
        depths = [depth[hop.partition(".")[0]] for hop in self.hops]
        return sum(after < before for before, after in pairwise(depths))


WALKS = (
    Walk(
        "A reply of a server",
        "From `$SYS.REQ.SERVER.PING.JSZ` to a finding. The check is called by the name in its rule page.",
        (
            "cli.check_run:run_check",
            "app.collecting:collect",
            "app.deployment:read_deployment",
            "app.deployment:_gathered",
            "app.deployment:_gather",
            "app.evidence:gather_live",
            "collect.gather:gather",
            "collect.gather:_take",
            "collect.live.system:SystemSource.sample *",
            "parse.assemble:assemble *",
            "parse.assemble:_snapshot",
            "parse.merge:merge_streams",
            "engine.runner:evaluate *",
            "engine.runner:_run",
            "engine.runner:_findings",
            "checks.consumer_lag.ack_wait_too_short:ack_wait_too_short *",
        ),
    ),
    Walk(
        "A line of a log",
        "In this process; with Spark the scan runs in executors and its rows are aggregated in the same way.",
        (
            "app.collecting:collect",
            "app.collecting:_beside",
            "app.logs.reading:read_logs",
            "app.logs.scanning:scan_logs",
            "app.logs.scanning:_in_processes",
            "collect.logs.local:run_local",
            "collect.logs.series:aggregated",
            "collect.logs.part:Scanner.rows *",
            "parse.logs.scan.part:PartScan.feed *",
            "parse.logs.scan.part:PartScan._read_block",
            "parse.logs.scan.part:PartScan._read_run",
            "parse.logs.scan.part:PartScan._read_unknown",
            "parse.logs.scan.part:PartScan._read_message",
            "parse.logs.scan.part:PartScan._count",
            "parse.logs.aggregate.aggregation:aggregate *",
            "parse.logs.aggregate.evidence:assemble *",
            "engine.runner:evaluate *",
            "checks.cluster_health.leader_flapping:elections_logged *",
        ),
    ),
    Walk(
        "A packet",
        "From a capture file; `--sniff` writes such a file first.",
        (
            "app.collecting:collect",
            "app.collecting:_beside",
            "app.packets.reading:read_packets",
            "collect.packets.files:read_captures",
            "collect.packets.files:read_ring",
            "engine.runner:evaluate *",
            "checks.sequence_mismatch.delivery_gap:delivery_gap_captured *",
        ),
    ),
    Walk(
        "A manifest",
        "Configuration that is not deployed yet. Its checks end in `_declared`.",
        (
            "app.collecting:collect",
            "app.collecting:_beside",
            "app.manifest_reading:read_manifests",
            "collect.manifests.load:load_manifests",
            "parse.manifests.read:read_manifest",
            "engine.runner:evaluate *",
            "checks.stream_limits.change_deletes:change_deletes_declared *",
            "checks.stream_limits.change_deletes:_changed",
            "checks.declared.deletions:of_change",
        ),
    ),
    Walk(
        "A fix",
        "From a failed rule to the request that is sent, and its proof. What is shown and what is sent is built once.",
        (
            "cli.fix.run:run_fix",
            "app.fix.plan:make_plan",
            "remedy.plan:draft",
            "remedy.plan:_steps",
            "remedy.families.stream_settings:_plan_raise_limits *",
            "remedy.families.stream_settings:_step",
            "remedy.families.configuration:update_step",
            "remedy.registry:described *",
            "app.fix.run:apply_plan *",
            "app.fix.run:_carry_out",
            "app.fix.run:_apply",
            "remedy.apply:Applier.all",
            "remedy.apply:Applier._take",
            "remedy.apply:Applier._write",
            "remedy.apply:Applier._send",
            "remedy.families.configuration:ConfigurationUpdate.write *",
            "remedy.families.configuration:ConfigurationUpdate.requests",
            "remedy.operation:StepContext.send *",
            "app.fix.live_api:LiveApi.ask *",
            "remedy.apply:Applier._prove *",
            "app.fix.evidence:examiner *",
        ),
    ),
)


def module_of(hop: str) -> str:
    return hop.removesuffix(" *").partition(":")[0]


@cache
def _tree(module: str) -> ast.Module:
    path = PACKAGE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text("utf-8"))


def _function(hop: str) -> ast.AST | None:
    """The definition that a hop names."""
    module, _, name = hop.removesuffix(" *").partition(":")
    definition: ast.AST = _tree(module)
    for part in name.split("."):
        inner = [
            node
            for node in ast.iter_child_nodes(definition)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == part
        ]
        if not inner:
            return None
        definition = inner[0]
    return definition


def walk_problems(walk: Walk) -> Iterator[str]:
    """Hops that are not there, and those that the one before does not call."""
    before: ast.AST | None = None
    for hop in walk.hops:
        function = _function(hop)
        if function is None:
            yield f"{walk.title}: there is no {hop}"
        elif before is not None and not hop.endswith(" *"):
            name = hop.rpartition(":")[2].rpartition(".")[2]
            called = {node.id for node in ast.walk(before) if isinstance(node, ast.Name)}
            called |= {node.attr for node in ast.walk(before) if isinstance(node, ast.Attribute)}
            if name not in called:
                yield f"{walk.title}: the hop before {hop} does not call it"
        before = function


def imports() -> set[tuple[str, str]]:
    """Which package of jsdoctor imports which."""
    pairs = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        if len(parts) < 2:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: Iterable[str] = ()
            if isinstance(node, ast.ImportFrom) and node.module:
                names = (node.module,)
            elif isinstance(node, ast.Import):
                names = (alias.name for alias in node.names)
            for name in names:
                words = name.split(".")
                if words[0] == "jsdoctor" and len(words) > 1 and words[1] != parts[0] and words[1] in PURPOSES:
                    pairs.add((parts[0], words[1]))
    return pairs


def layers_picture() -> str:
    lines = ["```mermaid", "flowchart TD"]
    for number, layer in enumerate(LAYERS):
        lines.append(f"    subgraph layer{number}[ ]")
        lines += [f'        {name}["{name}"]' for name in layer]
        lines.append("    end")
    lines += [f"    {importer} --> {other}" for importer, other in sorted(imports())]
    return "\n".join([*lines, "```"])


def walk_picture(walk: Walk) -> str:
    lines = ["```mermaid", "flowchart TD"]
    for number, hop in enumerate(walk.hops):
        module, _, name = hop.removesuffix(" *").partition(":")
        lines.append(f'    h{number}["{name}<br/>{module}"]')
    for number, hop in enumerate(walk.hops[1:], 1):
        lines.append(f"    h{number - 1} {'-.->' if hop.endswith(' *') else '-->'} h{number}")
    return "\n".join([*lines, "```"])


INTRODUCTION = """
# Architecture

`python -m tools.architecture_page` writes this page from the code; a test compares both.
[CONTRIBUTING](../CONTRIBUTING.md) describes how to add to it, the [records of decisions](adr/README.md) why it is so.

## Layers

Imports run from a layer to those below it; import-linter (`make arch`) refuses others, and circles within a layer.
`model`, `parse`, `checks`, `engine` and `render` use no network, no files and no clock.
"""
ON_WALKS = """
## Five walks

Each picture follows one kind of data through the functions that pass it on. A dotted arrow is a call through a registry
or an interface, or the way back to the caller. Functions that only help are left out. The table counts what the
pictures show; a walk climbs where it goes on in a higher layer.
"""


@dataclass(frozen=True)
class CallWalk:
    """What `tools.call_walks` measured of one kind of data: functions, modules and climbs, before and after."""

    data: str
    command: str
    before: tuple[int, int, int]
    after: tuple[int, int, int]


MEASURED = "2026-11-26"
CALL_WALKS = (
    CallWalk("a reply of a server", "check -s URL", (26, 16, 4), (30, 20, 4)),
    CallWalk("a line of a log", "audit FILE", (35, 17, 4), (38, 23, 4)),
    CallWalk("a packet", "check --pcap FILE", (28, 18, 3), (34, 22, 3)),
    CallWalk("a manifest", "check --manifest FILE", (28, 16, 3), (30, 19, 3)),
    CallWalk("a fix", "fix --apply", (27, 16, 2), (31, 18, 2)),
)
SIZES = (
    ("rules", 104, 177),
    ("modules of `jsdoctor`", 659, 991),
    ("lines of `jsdoctor`", 56_612, 98_604),
    ("modules of `jsdoctor/checks`", 245, 275),
    ("modules of `jsdoctor/checks` for each rule", 2.4, 1.6),
    ("lines of `jsdoctor/checks` for each rule", 154, 147),
    ("modules beside that of their rule (`_logged`, `_declared`, `_captured`, `_stored`)", 86, 0),
    ("class names with more than one definition", 48, 0),
    ("circles of modules or packages", 1, 0),
    ("lines of JSON Schema written by hand", 737, 0),
)
"""What the issue counted at `31e9599`, and the same counts on the day of `MEASURED`."""

BEFORE_AND_AFTER = f"""
## Before and after

Until 2026-11-21 (commit `31e9599`) the command line called the layers by itself. The figures of {MEASURED} beside it:
"""
ON_CALL_WALKS = """
Whole walks, from the command to its output, on the same input: `tools/call_walks.py` takes the call stacks where data
are read, parsed, judged and written (a fix: planned, sent, proved), and counts the functions on them. Those of today
are a few functions longer: `app` is a layer of its own, evidence may be partial, and a command redacts its errors.
"""
ON_SCORES = """
Scores of mutation testing are in [mutation.md](mutation.md): checks 98.4 % (74.0 % at the first run), engine 100 %
(50.7 %), samples of parse 61.6 % and of remedy 32.4 % (17.5 % before plans had golden files); of 33 mutants by hand, 14
survived before. The tasks of a stranger are in [CONTRIBUTING](../CONTRIBUTING.md#what-a-task-touches), with files and
minutes.
"""
ON_VERDICTS = """
### Verdicts

All 104 rules of that commit were run by it and by the code of 2026-11-26, on its own fixtures: 2,436 cases, 18
recordings of clusters, 9 directories of logs of healthy servers with all of their rules, and 40 captures; 22,382
comparisons of a rule on one evidence. Each compares the outcome of the rule and, of every result, subject, outcome,
severity, measured value, threshold and unit. 22,051 are equal but for texts. The others:

| comparisons | reason |
| ---: | --- |
| 138 | the case was changed or replaced since, together with its rule: its cases and golden results have the reason |
| 70 | one log of less than a second clears no rule any more ([0041](adr/0041-a-short-log-clears-no-rule.md)) |
| 50 | the case is as it was and the findings are equal; other subjects pass (next line) or, in short logs, none |
| 23 | recordings with equal findings: durables (JSD605), accounts (JSD807) and the limit of 2.15 (JSD602) pass since |
| 30 | recordings without a finding: JSD716 and JSD822 are evaluated without logs since |
| 9 | measured values: JSD206 and JSD615 had none, JSD308, JSD502 and JSD607 count or measure more exactly |
| 7 | captures: WebSocket is read (JSD201, JSD202, JSD209, JSD308, JSD506, JSD903), JSD903 sees joined segments |
| 4 | an interval that had not ended when the log does is a warning (JSD701, JSD704) |
"""


def _before_and_after() -> list[str]:
    sizes = [f"| {what} | {before:,} | {after:,} |" for what, before, after in SIZES]
    walks = [
        f"| {walk.data} | `{walk.command}` | {_figures(walk.before)} | {_figures(walk.after)} |" for walk in CALL_WALKS
    ]
    return [
        BEFORE_AND_AFTER.strip(),
        "\n".join(["| count | before | after |", "| --- | ---: | ---: |", *sizes]),
        ON_CALL_WALKS.strip(),
        "\n".join(["| walk | command | before | after |", "| --- | --- | --- | --- |", *walks]),
        ON_SCORES.strip(),
        ON_VERDICTS.strip(),
    ]


def _figures(walk: tuple[int, int, int]) -> str:
    functions, modules, climbs = walk
    return f"{functions} functions, {modules} modules, {climbs} climbs"


def page() -> str:
    """The whole page."""
    rows = [f"| `{name}` | {purpose} |" for name, purpose in PURPOSES.items()]
    table = "\n".join(["| package | purpose |", "| --- | --- |", *rows])
    counts = [f"| {walk.title} | {len(walk.hops)} | {walk.modules()} | {walk.climbs()} |" for walk in WALKS]
    walks = "\n".join(["| walk | functions | modules | climbs |", "| --- | --- | --- | --- |", *counts])
    parts = [INTRODUCTION.strip(), layers_picture(), table, ON_WALKS.strip(), walks]
    for walk in WALKS:
        parts += [f"### {walk.title}", walk.text, walk_picture(walk)]
    parts += _before_and_after()
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PLACE.write_text(page(), "utf-8")
