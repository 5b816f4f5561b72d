"""Attempts to break the library: hostile input, faults, interrupts, attacks, concurrency.

``python -m robustness`` runs all parts and prints one table; ``--quick`` is a short run. Every
case is made from a name and a seed, so that a failure can be replayed by ``--replay``.
"""
