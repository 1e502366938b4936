"""`jsdoctor watch`: the rules on a live deployment, again and again."""
