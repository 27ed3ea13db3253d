"""One module for each kind of measurement; each function gives rows of the table."""
