"""Helpers of the tests: eventually, pods, programs that print every signal."""
