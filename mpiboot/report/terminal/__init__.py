"""What people see on a terminal. rich lives here alone, and is loaded when something is drawn."""
