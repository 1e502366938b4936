"""jsdoctor itself: what it could not see."""
