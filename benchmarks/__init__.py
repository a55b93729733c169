"""Benchmarks: each prints a table and writes JSON to benchmarks/results; ratios are what to quote."""
