"""A memory that many workers share: an ordered log on a PostgreSQL server, and a replica of it on each machine."""
