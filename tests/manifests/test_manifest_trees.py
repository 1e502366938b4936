"""JSON and YAML to trees: the values that Python's own readers give, each with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jsdoctor.manifests.fields import go_duration
from jsdoctor.manifests.hcl_tree import hcl_document
from jsdoctor.manifests.tree import ManifestError, Tree, json_document
from jsdoctor.manifests.yaml_tree import yaml_documents
from jsdoctor.model.manifest import FilePosition
from tests.manifests.test_manifest_conf import plain

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20
)


@given(DOCUMENTS, st.sampled_from([None, 1]), st.booleans())
def test_json_is_what_python_reads(document: object, indent: int | None, escaped: bool) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=escaped)
    assert plain(json_document("a.json", text)) == json.loads(text)


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \n\\', max_size=40))
def test_json_that_python_refuses_is_refused(text: str) -> None:
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        with pytest.raises(ManifestError):
            json_document("a.json", text)
    else:
        assert plain(json_document("a.json", text)) == expected


@pytest.mark.parametrize(
    ("written", "text"),
    [(r"C:\\new", r"C:\new"), (r"a\tb\nc", "a\tb\nc"), (r"say \"x\"", 'say "x"'), ("$${a}", "${a}")],
)
def test_escapes_of_terraform(written: str, text: str) -> None:
    document = plain(hcl_document("a.tf", f'locals {{\n  a = "{written}"\n}}\n'))
    assert document == {"locals": [{"a": text}], "resource": []}


def test_json_places() -> None:
    listed = json_document("a.json", '{\n  "a": [1,\n    {"b": 2}]\n}').get("a")
    assert listed is not None
    assert listed.place == FilePosition("a.json", 2, 3)
    (_, inner) = listed.items()
    assert inner.get("b") == Tree(2, FilePosition("a.json", 3, 6))


@given(DOCUMENTS)
def test_yaml_reads_json(document: object) -> None:
    """JSON without surrogates is YAML; floats without a dot are read as text by YAML 1.1."""
    text = json.dumps(json.loads(json.dumps(document), parse_float=lambda _: 1.5))
    if "\\ud" in text or "\\u00" in text or "\\ufe" in text or "\\uff" in text:
        return
    read = list(yaml_documents("a.yaml", text))
    assert (plain(read[0]) if read else None) == json.loads(text)


def test_yaml_places_anchors_and_merges() -> None:
    text = "base: &base\n  a: 1\n  b: 2\nuse:\n  <<: *base\n  b: 3\n---\n- x\n"
    first, second = yaml_documents("a.yaml", text)
    assert (plain(first), plain(second)) == ({"base": {"a": 1, "b": 2}, "use": {"a": 1, "b": 3}}, ["x"])
    merged = first.get("use", "b")
    assert merged is not None
    assert merged.place == FilePosition("a.yaml", 6, 3)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b: c\n", 1),
        ("a:\n  - b\n c: d\n", 3),
        ("a: &x [*x]\n", 1),
        ("a: *nowhere\n", 1),
        ("a: !!int hunter2\n", 1),
        ("[" * 500 + "]" * 500, 1),
        (f"# {']' * 100_000}\na: {'[' * 100_000}", 1),
    ],
)
def test_yaml_mistakes_have_a_place_and_quote_nothing(text: str, line: int) -> None:
    with pytest.raises(ManifestError) as error:
        list(yaml_documents("a.yaml", text))
    assert error.value.place is None or error.value.place.line == line
    assert "hunter2" not in str(error.value)


def test_many_references_cost_no_more_than_one() -> None:
    """The billion laughs: nine levels of nine references each."""
    lines = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    (document,) = yaml_documents("a.yaml", "\n".join(lines))
    assert document.get("a39") is not None


def test_no_tag_runs_anything() -> None:
    (document,) = yaml_documents("a.yaml", 'a: !!python/object/apply:os.system ["true"]\n')
    assert plain(document) == {"a": ["true"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("72h", 259_200_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5s", 1_500_000_000),
        ("0", 0),
        ("-5s", -5_000_000_000),
        (".5s", 500_000_000),
        ("250ms", 250_000_000),
        ("1us", 1000),
        ("+1s", 1_000_000_000),
        ("1.s", 1_000_000_000),
    ],
)
def test_durations_of_go(text: str, expected: int) -> None:
    assert go_duration(Tree(text, FilePosition("a"))) == expected


@pytest.mark.parametrize("text", ["7d", "2w", "5", "s", "1h 30m", "1H", "--1s", "1e3s", "", "1d12h"])
def test_no_durations_of_go(text: str) -> None:
    if text == "":
        assert go_duration(Tree(text, FilePosition("a"))) == 0
        return
    with pytest.raises(ValueError, match="no duration in Go"):
        go_duration(Tree(text, FilePosition("a")))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- " * 40_000 + "x", id="sequences in a line"),
        pytest.param("? " * 40_000 + "x", id="keys in a line"),
        pytest.param("".join(" " * depth + "-\n" for depth in range(700)), id="sequences in lines"),
        pytest.param("[" * 100_000, id="brackets"),
        pytest.param('{"a":' * 50_000, id="braces"),
    ],
)
def test_yaml_deeper_than_any_manifest_is_refused(text: str) -> None:
    """Composing it would end the process: libyaml's reader overflows the stack, or takes the square of the depth."""
    with pytest.raises(ManifestError, match=r"deep|brackets"):
        list(yaml_documents("a.yaml", text))


def test_texts_with_many_signs_are_not_deep() -> None:
    dashes, brackets = "- " * 600, "[ ]" * 2_000
    text = f"a: |\n  {dashes}\nb: '{brackets}'\nc: |\n {' ' * 600}x\n"
    (document,) = yaml_documents("a.yaml", text)
    assert plain(document) == {"a": f"{dashes}\n", "b": brackets, "c": "x\n"}
