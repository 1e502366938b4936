"""The promises that can be measured, each beside a peer in the same run: `python -m bench`, or `make bench`.

Nothing here is a test: times depend on the machine, so a missed limit is printed as MISS and fails nothing unless
`--strict` is given. `bench/README.md` says what is promised and what was measured.
"""
