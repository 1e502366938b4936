"""Lines about Raft groups: the group's id is no stream or consumer that a log could name."""

from __future__ import annotations

from collections.abc import Mapping

from jsdoctor.model.finding import CLUSTER, Subject

META_GROUP = "_meta_"


def cluster_of(_fields: Mapping[str, str], _logged_by: str) -> Subject:
    """For lines about the meta group or the cluster as a whole."""
    return CLUSTER


def member_of(_fields: Mapping[str, str], logged_by: str) -> Subject:
    """The server that wrote it; which asset a group belongs to is in no line."""
    return Subject(kind="server", name=logged_by)
