"""The two background programs: how they are installed, started, watched and stopped."""
