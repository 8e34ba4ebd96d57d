"""Alembic's home: `env` is run by Alembic, `versions` holds one module for each change of the schema."""
