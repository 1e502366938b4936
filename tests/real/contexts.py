"""nats contexts for runs with several logins."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.servers import Cluster


@contextmanager
def contexts(cluster: Cluster, *users: str, at: Path) -> Iterator[list[str]]:
    """The words of the command line that name a context for each user; while it lasts, commands find them."""
    folder = at / "nats" / "context"
    folder.mkdir(parents=True, exist_ok=True)
    for user in users:
        (folder / f"{user}.json").write_text(json.dumps({"url": cluster.url(user)}))
    with patch.dict(os.environ, {"XDG_CONFIG_HOME": str(at)}):
        yield [word for user in users for word in ("--context", user)]
