"""`jsdoctor baseline`, and the baseline that `check` takes."""
