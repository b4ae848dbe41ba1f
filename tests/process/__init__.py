"""Tests with real processes, in namespaces."""
