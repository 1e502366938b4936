"""The commands that actions print, by what they are about."""
