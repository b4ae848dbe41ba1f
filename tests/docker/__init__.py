"""Tests with real containers."""
