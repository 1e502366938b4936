"""The problem that ends a run on Spark: what Spark said, in one sentence, and what to do next."""

from __future__ import annotations

from jsdoctor.collect.problems import Problem


class SparkProblem(Problem):
    """Spark could not be started, reached or used. Nothing was judged. Exit code 3."""
