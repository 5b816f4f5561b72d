"""Measurements of speed, memory and quality against peers, run as ``python -m benchmarks.<name>``.

Runs write JSON as they go; tables and pictures are made from that file alone.
"""
