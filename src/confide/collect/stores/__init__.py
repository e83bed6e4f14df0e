"""Where reports are kept: a SQLite file or a PostgreSQL database, by one interface."""
