"""Mutation testing: small changes of the code, each of which must make a test fail.

`make mutants PACKAGE=checks` changes each function of `jsdoctor/checks` in every way that `operators.py` knows. For
each mutant, the tests that reach the changed lines run in a forked process. A mutant that no test notices survives.

`suites.toml` lists the packages, their tests and their goals. `equivalent.toml` lists mutants that do the same as the
original, each with the reason. Results are kept in `.mutation`; `make mutants-page` writes docs/mutation.md from them.
docs/adr/0053 states why no published tool is used.
"""
