"""Measure how well the memory works, on its own rows or on the user's files."""

import os

QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries.sql")
