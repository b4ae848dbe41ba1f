"""Programs that tests run as ranks."""
