"""What checks of log evidence share: spells and bursts of trouble, restarts that explain them, and how to say it."""
