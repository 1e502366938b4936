"""The proof: the tests in slices, run over as many sittings as they need, and a page of what they gave.

    make proof                          run what is left of every slice, at most 30 minutes each
    make proof SLICE=faults VERSION=2.15.1 MINUTES=8
    make proof SLICE=faults AGAIN=20    run the tests that failed 20 more times, for the rate
    make proof-page                     write docs/proof.md from the results, and keep them in docs/proof.tar.xz

`slices.toml` says what a slice has. A piece of it is one test module; its results are lines of
`.proof/STATE/SLICE/MODULE.jsonl`, one for each test that started or ended; tracebacks and output of failed tests are in
`MODULE.failures.txt` beside it. STATE is a digest of jsdoctor/, rules/,
tests/ and fixtures/, so a change of any of them starts a new proof, and what has a result for a state is not run
again. A run that was killed goes on with the next test, also on another machine that has the published results.
"""
