"""Measure how well the memory does, on what is remembered or on the user's own files."""

import os

QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries.sql")
