"""Reports and rule pages to text. Pure: width, colour and encoding come in as arguments, a string goes out."""
