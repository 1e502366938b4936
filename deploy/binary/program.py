"""Where the program of one file begins."""

import multiprocessing

from jsdoctor.__main__ import main

multiprocessing.freeze_support()  # logs are read by processes of their own
main()
