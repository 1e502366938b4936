"""Reading the headers and dates of stored messages, without changing anything of a stream."""
