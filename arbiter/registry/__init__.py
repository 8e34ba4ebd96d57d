"""Takes bots in: uploads, versions, and what happens to a version up to its first match."""
