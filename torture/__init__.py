"""Attempts to break the library: hostile input, faults, interrupts, attacks, crowds.

``python -m torture`` runs them all and prints one table; ``--quick`` takes seconds. Every case is
made from a name and a seed, so that a failure can be replayed by ``--replay``.
"""
