"""Rules are loaded, selected, planned for and evaluated here. Pure: evidence comes in, a report goes out."""
