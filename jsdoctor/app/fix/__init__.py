"""Planning of fixes: what `jsdoctor fix` does before it writes, and the connection that it writes through."""
