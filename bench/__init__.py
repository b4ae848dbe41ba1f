"""Benchmarks: mpiboot beside its baseline, interleaved, in one run."""
