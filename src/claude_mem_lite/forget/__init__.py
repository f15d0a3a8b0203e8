"""Forget what the user names: find it, mark it, delete it everywhere and purge its bytes."""
