"""Writes `docs/schema/plan-v1.json`, the JSON Schema of a plan: python -m tests.remedy.plan_schema."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from jsdoctor.model.plan import Plan

PLACE = Path(__file__).resolve().parents[2] / "docs" / "schema" / "plan-v1.json"


def schema() -> str:
    """The schema as it should be in the file."""
    made = msgspec.json.schema(Plan)
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "jsdoctor.plan/v1"}
    return json.dumps(about | made, indent=2) + "\n"


if __name__ == "__main__":
    PLACE.write_text(schema(), "utf-8")
