"""Keep the memory in order: retention, backups, exports, repairs."""
