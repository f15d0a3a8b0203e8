"""How well the memory does, measured on what is remembered itself or on files of the user's."""

import os

QUERIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "queries.sql")
