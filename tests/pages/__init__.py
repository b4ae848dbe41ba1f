"""What stands in the documentation and comes from the code: written, and compared, by `make docs`."""
