"""Measures crftrain beside its peers. `python bench/bench.py --help` says how; each file in tables/ is one table."""
