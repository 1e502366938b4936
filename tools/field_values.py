"""Every kind of value for every field of a stream and of a consumer, as JSON of the server's API.

`{n}` stands for the name of the stream, `ORIGIN` is a stream that is always there.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MS = 1_000_000
S = 1000 * MS
HOUR = 3600 * S
BIG = 1 << 62

_LONG = "x" * 5000
_NOT_NUMBERS: tuple[Any, ...] = ("5", 1.5, [1])
_NOT_TEXTS: tuple[Any, ...] = (5, ["a"])
_NOT_FLAGS: tuple[Any, ...] = ("true", 1)

_COUNTS: tuple[Any, ...] = (-5, -1, 0, 1, 3, 12, 20, 1000, BIG, *_NOT_NUMBERS)
_SIZES: tuple[Any, ...] = (-5, -1, 0, 1, 100, 900, 1500, 1 << 20, *_NOT_NUMBERS)
_SPANS: tuple[Any, ...] = (
    -1,
    0,
    1,
    99 * MS,
    100 * MS,
    500 * MS,
    S,
    60 * S,
    120 * S,
    HOUR,
    30 * 24 * HOUR,
    *_NOT_NUMBERS,
)
_FLAGS: tuple[Any, ...] = (True, False, *_NOT_FLAGS)
_TIMES: tuple[Any, ...] = (
    "2026-01-01T00:00:00Z",
    "2020-06-01T12:00:00.5+02:00",
    "",
    "yesterday",
    "2026-13-01T00:00:00Z",
    5,
)
_MAX_LABELS = 128 * 1024
_LABELS: tuple[Any, ...] = ({"team": "a"}, {}, {"k": "v" * (129 * 1024)}, {"k": 5}, ["a"], "a")

_TRANSFORMS: tuple[Any, ...] = (
    {"src": "{n}.>", "dest": "moved.{n}.>"},
    {"src": "{n}.*", "dest": "moved.{n}.{{wildcard(1)}}"},
    {"src": "{n}.*.*", "dest": "moved.{n}.$2.$1"},
    {"src": "{n}.*", "dest": "moved.{n}.$2"},
    {"src": "{n}.*", "dest": "moved.{n}.{{wildcard(2)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{partition(3,1)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{partition(0,1)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{Partition(3,1)}}.{{SplitFromLeft(1,2)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{split(1,-)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{slicefromleft(1,2)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{left(1,2)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{unheard(1)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{wildcard()}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{partition(3)}}"},
    {"src": "{n}.*", "dest": "moved.{n}.{{split(1)}}"},
    {"src": "{n}.*", "dest": "moved.{n}"},
    {"src": "{n}.a", "dest": "moved.{n}.a"},
    {"src": "{n}.a", "dest": "moved.{n}.*"},
    {"src": "{n}.>", "dest": "moved.{n}.*"},
    {"src": "{n}.>", "dest": "moved..{n}"},
    {"src": "{n}..a", "dest": "moved.{n}"},
    {"src": "", "dest": "moved.>"},
    {"src": "", "dest": "moved.{n}"},
    {"src": "{n}.>", "dest": ""},
    {"src": "", "dest": ""},
    {"src": ">", "dest": "moved.>"},
    {},
    "moved",
)

_REPUBLISH: tuple[Any, ...] = (
    {"src": "{n}.>", "dest": "copy.{n}.>"},
    {"src": ">", "dest": "copy.{n}.>"},
    {"src": "", "dest": "copy.{n}.>"},
    {"dest": "copy.{n}.>", "headers_only": True},
    {"src": "{n}.>", "dest": "{n}.copy.>"},
    {"src": "{n}.>", "dest": ">"},
    {"src": ">", "dest": ">"},
    {"src": "{n}.*", "dest": "copy.{n}.$1"},
    {"src": "{n}.*", "dest": "copy.{n}.$2"},
    {"src": "{n}.*", "dest": "copy.{n}.{{wildcard(1)}}"},
    {"src": "{n}.a", "dest": "copy.{n}.*"},
    {"src": "{n}.>", "dest": "copy..{n}"},
    {"src": "{n}.>", "dest": ""},
    {"src": "{n}.>"},
    {"src": "{n}.>", "dest": "copy.{n}.>", "headers_only": "yes"},
    {},
    "copy",
)

_MIRRORS: tuple[Any, ...] = (
    {"name": "ORIGIN"},
    {"name": "OTHER"},
    {"name": "NOWHERE"},
    {"name": ""},
    {"name": "a.b"},
    {"name": "ORIGIN", "opt_start_seq": 5},
    {"name": "ORIGIN", "opt_start_time": "2026-01-01T00:00:00Z"},
    {"name": "ORIGIN", "filter_subject": "origin.a"},
    {"name": "ORIGIN", "filter_subject": "origin..a"},
    {"name": "ORIGIN", "filter_subject": "origin.a", "subject_transforms": [{"src": "origin.b", "dest": "x.b"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.>", "dest": "x.{n}.>"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.>", "dest": "x.>"}, {"src": "origin.a", "dest": "y.a"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": "x.>"}, {"src": "origin.b", "dest": "y.b"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin..a", "dest": "x.a"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.*", "dest": "x.$2"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.*", "dest": ""}]},
    {"name": "{n}"},
    {"name": "ORIGIN", "external": {"api": "$JS.hub.API", "deliver": "deliver.{n}"}},
    {"name": "ORIGIN", "external": {"api": "$JS.API", "deliver": "deliver.{n}"}},
    {"name": "ORIGIN", "external": {"api": "$JS.*.API", "deliver": "deliver.{n}"}},
    {"name": "ORIGIN", "external": {"api": "$JS.hub.API", "deliver": "deliver.*"}},
    {"name": "ORIGIN", "external": {"api": "", "deliver": ""}},
    {},
    "ORIGIN",
)
_SOURCES: tuple[Any, ...] = (
    *([mirror] for mirror in _MIRRORS),
    [],
    [{"name": "ORIGIN"}, {"name": "ORIGIN"}],
    [{"name": "ORIGIN"}, {"name": "OTHER"}],
    [{"name": "ORIGIN", "filter_subject": "origin.a"}, {"name": "ORIGIN", "filter_subject": "origin.b"}],
    [{"name": "ORIGIN", "filter_subject": "origin.a"}, {"name": "ORIGIN", "filter_subject": "origin.a"}],
    [{"name": "ORIGIN", "opt_start_seq": 2}, {"name": "ORIGIN"}],
    {"name": "ORIGIN"},
)

STREAM: dict[str, tuple[Any, ...]] = {
    "description": ("", "of orders", _LONG, "x" * 4096, *_NOT_TEXTS),
    "subjects": (
        *(["{n}.>"], ["{n}.a"], ["{n}.*"], ["{n}.>", "{n}2.>"], ["{n}.>", "{n}.a"], ["{n}.a", "{n}.a"], []),
        *([""], ["{n}..a"], ["{n}.>.a"], ["{n} a"], [">"], ["*.>"], ["origin.x"], ["origin.>"], ["$JS.API.>"]),
        *(["$JS.>"], ["$JS.EVENT.{n}.>"], ["$JSC.{n}"], ["$NRG.{n}"], ["$SYS.>"], ["$SYS.ACCOUNT.{n}.>"], ["$SYS.{n}"]),
        *([5], "{n}.>", 5, None, [".{n}"], ["{n}."], ["{n}.*.>"], ["$KV.{n}.>"]),
    ),
    "retention": ("limits", "interest", "workqueue", "work", "", "LIMITS", 1, None),
    "max_consumers": (-5, -1, 0, 1, 2, 100, BIG, *_NOT_NUMBERS),
    "max_msgs": _COUNTS,
    "max_bytes": _SIZES,
    "max_age": _SPANS,
    "max_msgs_per_subject": _COUNTS,
    "max_msg_size": (-5, -1, 0, 1, 64, 1 << 20, (1 << 31) - 1, 1 << 31, -(1 << 31) - 1, *_NOT_NUMBERS),
    "discard": ("old", "new", "newest", "", 1),
    "discard_new_per_subject": _FLAGS,
    "storage": ("file", "memory", "disk", "", 1),
    "num_replicas": (-1, 0, 1, 3, 5, 6, 2, *_NOT_NUMBERS),
    "no_ack": _FLAGS,
    "duplicate_window": _SPANS,
    "mirror": (*_MIRRORS, None),
    "sources": (*_SOURCES, None),
    "sealed": _FLAGS,
    "deny_delete": _FLAGS,
    "deny_purge": _FLAGS,
    "allow_rollup_hdrs": _FLAGS,
    "allow_direct": _FLAGS,
    "mirror_direct": _FLAGS,
    "allow_msg_ttl": _FLAGS,
    "subject_delete_marker_ttl": (-1, 0, 1, 999 * MS, S, 60 * S, *_NOT_NUMBERS),
    "allow_msg_counter": _FLAGS,
    "allow_atomic": _FLAGS,
    "allow_batched": _FLAGS,
    "allow_msg_schedules": _FLAGS,
    "persist_mode": ("default", "async", "sync", "", 1),
    "compression": ("none", "s2", "zip", "", "S2", 1),
    "first_seq": (-1, 0, 1, 5, 100, BIG, 1 << 63, "5", 1.5),
    "placement": (
        *({"cluster": "C"}, {}, {"tags": ["a"]}, {"cluster": ""}, {"preferred": "n1"}, {"tags": "a"}, "C", None),
        {"cluster": 5},
    ),
    "republish": (*_REPUBLISH, None),
    "subject_transform": (*_TRANSFORMS, None),
    "consumer_limits": (
        *({}, {"max_ack_pending": 5}, {"max_ack_pending": 100}, {"max_ack_pending": 1000}, {"max_ack_pending": 5000}),
        *({"inactive_threshold": S}, {"inactive_threshold": HOUR}, {"inactive_threshold": -1}, {"max_ack_pending": -1}),
        *({"max_ack_pending": "5"}, {"max_ack_pending": 20, "inactive_threshold": 60 * S}, None, 5),
    ),
    "metadata": (*_LABELS, None),
}
"""Values by field. What a server of a version does not know is left out by the generator."""

_GROUPS: tuple[Any, ...] = (["jobs"], [], [""], ["a", "b"], ["a b"], ["a.b"], ["x" * 17], ["x" * 16], "jobs", [5])
_FILTERS = (
    *("{n}.a", "{n}.*", "{n}.>", "{n}", "", "elsewhere.{n}", "{n}..a", "{n}.>.a", "{n} a", ">", "*", ".{n}", 5),
    *(["{n}.a"],),
)

CONSUMER: dict[str, tuple[Any, ...]] = {
    "description": ("", "reads", _LONG, "x" * 4096, *_NOT_TEXTS),
    "deliver_policy": (
        *("all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject", "none", "", "ALL", 1),
    ),
    "opt_start_seq": (-1, 0, 1, 4, 500, "5", 1.5),
    "opt_start_time": (*_TIMES, None),
    "ack_policy": ("none", "all", "explicit", "flow_control", "maybe", "", 1),
    "ack_wait": (-1, 0, 1, S, 30 * S, HOUR, *_NOT_NUMBERS),
    "max_deliver": (-5, -1, 0, 1, 2, 5, BIG, *_NOT_NUMBERS),
    "backoff": ([], [S], [S, 2 * S], [S, 2 * S, 3 * S], [0], [-1], [S, -1], S, ["1s"], None),
    "filter_subject": _FILTERS,
    "filter_subjects": (
        *(
            ["{n}.a"],
            ["{n}.a", "{n}.b"],
            ["{n}.>", "{n}.a"],
            ["{n}.*", "{n}.a"],
            ["{n}.*.b", "{n}.a.*"],
            ["{n}.a", "{n}.a"],
        ),
        *([], [""], ["{n}.a", ""], ["{n}..a"], ["elsewhere.{n}"], "{n}.a", [5], None, [">"]),
    ),
    "replay_policy": ("instant", "original", "fast", "", 1),
    "sample_freq": ("", "0", "1", "50%", "100", "150", "-1", "half", "1.5", "10 %", "%", 50),
    "max_waiting": (-1, 0, 1, 512, 100, BIG, *_NOT_NUMBERS),
    "max_ack_pending": (-5, -1, 0, 1, 10, 100, 1000, 2000, BIG, *_NOT_NUMBERS),
    "flow_control": _FLAGS,
    "idle_heartbeat": (-1, 0, 1, 99 * MS, 100 * MS, S, 5 * S, HOUR, *_NOT_NUMBERS),
    "headers_only": _FLAGS,
    "deliver_subject": (
        *("to.{n}", "to.other.{n}", "", "to.*", "to.>", "to..{n}", "to {n}", "{n}.x", ".to", "$JS.API.{n}", 5, None),
    ),
    "deliver_group": ("", "workers", "two words", "a.b", "x" * 300, 5),
    "inactive_threshold": (-1, 0, 60 * S, HOUR, *_NOT_NUMBERS),
    "num_replicas": (-1, 0, 1, 3, 5, *_NOT_NUMBERS),
    "mem_storage": _FLAGS,
    "direct": _FLAGS,
    "rate_limit_bps": (-1, 0, 1, 1000, 1 << 40, "5", 1.5),
    "max_batch": (-1, 0, 1, 1000, *_NOT_NUMBERS),
    "max_expires": (-1, 0, 1, 999_999, MS, S, *_NOT_NUMBERS),
    "max_bytes": (-1, 0, 1, 1 << 20, *_NOT_NUMBERS),
    "pause_until": (*_TIMES, "2031-01-01T00:00:00Z", None),
    "priority_policy": ("none", "overflow", "pinned_client", "prioritized", "first", "", 1),
    "priority_groups": _GROUPS,
    "priority_timeout": (-1, 0, 1, S, 60 * S, *_NOT_NUMBERS),
    "metadata": (*_LABELS, None),
}

_MORE_FUNCTIONS = (
    *("{{random(3)}}", "{{Random(3)}}", "{{random()}}", "{{random(1,2)}}", "{{random(2147483647)}}"),
    *("{{random(2147483648)}}", "{{partition()}}", "{{partition(a)}}", "{{partition(3,2)}}", "{{partition(3,1,1)}}"),
    *("{{partition(2147483647,1)}}", "{{partition(2147483648,1)}}", "{{right(1,1)}}", "{{left(1)}}", "{{Left(1,1)}}"),
    *("{{SplitFromRight(1,1)}}", "{{splitfromleft(1)}}", "{{SliceFromRight(1,1)}}", "{{slicefromleft(1,1,1)}}"),
    *("{{splitFromRight(2,1)}}", "{{sliceFromLeft(2,1)}}", "{{split(1,a b)}}", "{{split(1,.)}}", "{{split(2,-)}}"),
    *("{{split(a,-)}}", "{{Split(1,-)}}", "{{split(1,-,-)}}", "{{wildcard( 1 )}}", "{{ wildcard(1) }}"),
    *("{{WildCard(1)}}", "{{Wildcard(1)}}", "{{wildcard(1,1)}}", "{{wildcard(+1)}}", "x{{wildcard(1)}}"),
    *("{{wildcard(1)}}x", "{{}}", "{{x}}", "{{1}}", "$0", "$-1", "$+1", "$1x", "${1}", "{{wildcard(0)}}"),
    *("{{partition(3,0)}}", "{{partition(3, 1)}}", "{{left(1,9)}}", "{{left(1,a)}}", "{{PARTITION(3,1)}}"),
)
_MORE_TRANSFORMS: tuple[Any, ...] = (
    *({"src": "{n}.*", "dest": f"moved.{{n}}.{function}"} for function in _MORE_FUNCTIONS),
    *(
        {"src": source, "dest": f"moved.{{n}}.{function}{rest}"}
        for source, rest in (("{n}.a", ""), ("{n}.>", ".>"), ("{n}.*.>", ".>"), ("", ".>"))
        for function in ("$1", "$2", "{{wildcard(1)}}", "{{random(3)}}", "{{partition(3)}}", "{{partition(3,1)}}")
    ),
    {"src": "{n}.*.*", "dest": "moved.{n}.{{partition(3,1,2)}}"},
    {"src": "{n}.*.*", "dest": "moved.{n}.{{partition(3,1,3)}}"},
    {"src": "{n}.>.a", "dest": "moved.{n}"},
    {"src": "{n}.*", "dest": "moved.>.{n}"},
    {"src": "{n}.*", "dest": ">"},
    {"src": "{n}.*", "dest": "*"},
)
_MORE_COPIES: tuple[Any, ...] = (
    {"name": "LARGE"},
    {"name": "x" * 300},
    {"name": "a b"},
    {"name": "a.b", "external": {"api": "$JS.hub.API"}},
    {"name": "", "external": {"api": "$JS.hub.API"}},
    {"name": "ORIGIN", "external": {"api": "$JS..API"}},
    {"name": "ORIGIN", "external": {"api": "$JS.>"}},
    {"name": "ORIGIN", "external": {"api": "$JS.API.>"}},
    {"name": "ORIGIN", "external": {"api": "$JS.hub.API", "deliver": "deliver..{n}"}},
    {"name": "ORIGIN", "external": {"api": "$JS.hub.API", "deliver": "deliver.>"}},
    {"name": "ORIGIN", "external": {"deliver": "deliver.{n}"}},
    {"name": "ORIGIN", "filter_subject": "elsewhere.>"},
    {"name": "ORIGIN", "filter_subject": "origin.a", "subject_transforms": []},
    {"name": "ORIGIN", "subject_transforms": [{"src": "", "dest": "x.{n}.>"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": ""}, {"src": "origin.a", "dest": ""}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": ""}, {"src": "origin.>", "dest": ""}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.*.b", "dest": ""}, {"src": "origin.a.*", "dest": ""}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": ""}, {"src": "origin..b", "dest": ""}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin..a", "dest": ""}, {"src": "origin..b", "dest": ""}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.*", "dest": "x.{{left(1,1)}}"}]},
    {"name": "ORIGIN", "subject_transforms": [{"src": "origin.*", "dest": "x.{{random(2)}}"}]},
)
_MORE_TEXTS = ("x" * 4097, "\u00e9" * 2048, "\u00e9" * 2049)
_MORE_LABELS = (
    {"k": "v" * (_MAX_LABELS - 17)},
    {"k": "v" * (_MAX_LABELS - 16)},
    {"k": "v" * (_MAX_LABELS - 1)},
    {"k": "v" * _MAX_LABELS},
    {"k": "\u00e9" * (_MAX_LABELS // 2)},
    {"k": "v" * (_MAX_LABELS // 2), "l": "v" * (_MAX_LABELS // 2)},
    {"k" * (_MAX_LABELS // 2): "", "l" * (_MAX_LABELS // 2): ""},
    {"k" * (_MAX_LABELS // 2): "", "l" * (_MAX_LABELS // 2): "v"},
)

NEW_STREAM: dict[str, tuple[Any, ...]] = {
    "name": ("N" * 255, "N" * 256, "a/b{n}", "a\\b{n}"),
    "description": _MORE_TEXTS,
    "metadata": _MORE_LABELS,
    "num_replicas": (4,),
    "mirror": _MORE_COPIES,
    "sources": (
        *([copy] for copy in _MORE_COPIES),
        [{"name": "ORIGIN", "filter_subject": "origin.a"}, {"name": "ORIGIN", "filter_subject": ""}],
        [
            {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": "x.a"}]},
            {"name": "ORIGIN", "subject_transforms": [{"src": "origin.a", "dest": "x.a"}]},
        ],
    ),
    "subject_transform": _MORE_TRANSFORMS,
    "republish": (*_MORE_TRANSFORMS, {"src": "{n}.a", "dest": "{n}.b"}, {"src": "{n}.*", "dest": "{n}.$1"}),
}
"""More values, which only new streams are tried with."""

NEW_CONSUMER: dict[str, tuple[Any, ...]] = {
    "durable_name": ("r" * 255, "r" * 256, "a/b", "a\\b"),
    "name": ("other", ""),
    "description": _MORE_TEXTS,
    "metadata": _MORE_LABELS,
    "sample_freq": ("+5", "-0", "-5%", "5%%"),
    "priority_groups": (["a-b_c/d=e"], ["a", ""], ["A", "b c"], ["\u00e9"]),
    "deliver_subject": ("to.*.{n}", "to.>.{n}", "{n}.>", ">"),
    "backoff": ([S, 2 * S, 3 * S, 4 * S, 5 * S, 6 * S],),
}
"""More values, which only new consumers are tried with."""
