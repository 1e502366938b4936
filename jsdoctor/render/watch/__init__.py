"""What `jsdoctor watch` shows: a full screen on a terminal, lines elsewhere, and the bodies of its notifications."""
