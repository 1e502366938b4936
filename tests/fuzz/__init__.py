"""Mutated input for every parser: what others wrote must end in a report, a gap or one clear message, never in a crash.

Each input is a recorded or shipped one (fixtures, rule pages) with a few changes that follow from a seed. Hypothesis
chooses the seeds and keeps those that failed in `.hypothesis`. `targets.py` says what each target may raise and what
else must hold. More inputs: JSDOCTOR_FUZZ=100 .venv/bin/pytest tests/fuzz -k bundle
"""
