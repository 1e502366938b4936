"""What steps do to servers: look, write, wait, undo. One operation serves several actions."""
