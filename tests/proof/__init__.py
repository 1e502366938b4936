"""The proof: the tests in slices, run over as many sittings as they need, and a page of what they gave.

    make proof                          run what `make test` has, then what is left of every slice, 30 minutes each
    make proof SUITE=1                  only what `make test` has
    make proof SLICE=faults VERSION=2.15.1 MINUTES=8
    make proof SLICE=faults AGAIN=20    run the tests that failed 20 more times, for the rate
    make proof SLICE=healthy LANES=4    four pytest processes side by side
    make proof-page                     write docs/proof.md from the results, and keep them in docs/proof.tar.xz
    make proof-page STATE=81c1… LATER="79e5… d89b…"
                                        the page of a former state, and what was run again for later ones

`slices.toml` says what a slice has, and which of them run on two releases more (`JSDOCTOR_VERSIONS=all`).
A piece of a slice is one test module; its results are lines of
`.proof/STATE/SLICE/MODULE.TESTS.jsonl`, one for each test that started or ended; tracebacks and output of failed tests
are in `MODULE.TESTS.failures.txt` beside it. STATE is a digest of jsdoctor/, rules/ and fixtures/, TESTS one of what
the module depends on in tests/ (`dependencies.py`). So a change of what is tested starts a new proof, a change of a
test only that of the modules that depend on it, and what has a result is not run again. A run that was killed goes on
with the next test, also on another machine that has the published results.
"""
