"""Writes `docs/schema`, the JSON Schemas of what jsdoctor writes, from its types: python -m tools.schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from jsdoctor.model.plan import Plan
from jsdoctor.render.diagnosis_json import DiagnosisDocument
from jsdoctor.render.preflight_json import PreflightDocument
from jsdoctor.render.report_document import ReportDocument

DIRECTORY = Path(__file__).resolve().parents[1] / "docs" / "schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schemas() -> dict[Path, str]:
    """Each file as it should be."""
    return {
        DIRECTORY / "report-v1.json": _text("report", _complete(msgspec.json.schema(ReportDocument))),
        DIRECTORY / "diagnosis-v1.json": _text("diagnosis", _complete(msgspec.json.schema(DiagnosisDocument))),
        DIRECTORY / "preflight-v1.json": _text("preflight", _complete(msgspec.json.schema(PreflightDocument))),
        DIRECTORY / "plan-v1.json": _text("plan", msgspec.json.schema(Plan)),
    }


def _text(name: str, schema: dict[str, Any]) -> str:
    about = {"$schema": DIALECT, "$id": f"urn:jsdoctor:schema:{name}:v1", "title": f"jsdoctor.{name}/v1"}
    return json.dumps(about | schema, indent=2) + "\n"


def _complete(schema: dict[str, Any]) -> dict[str, Any]:
    """With every object closed and all of its keys required, as jsdoctor writes all keys of a report."""
    for definition in schema["$defs"].values():
        if "properties" in definition:
            definition |= {"required": list(definition["properties"]), "additionalProperties": False}
            for key in definition["properties"].values():
                key.pop("default", None)
    return schema


if __name__ == "__main__":
    for path, text in schemas().items():
        path.write_text(text, "utf-8")
