"""Fixtures for all tests."""

# Here, as pytest can rewrite the asserts of helpers only before a test module imports them.
pytest_plugins = ("tests.helpers.pods", "tests.helpers.agents", "tests.helpers.plain")
