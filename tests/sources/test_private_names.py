"""The private names of nats-py that jsdoctor uses (docs/adr/0057) are there, and no others are used."""

import ast
import inspect
from pathlib import Path

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.aio.transport import TcpTransport, WebSocketTransport

from jsdoctor.sources import connect

PRIVATE: dict[type, set[str]] = {
    Client: {
        *("_ps", "_transport", "_subs"),
        *("_process_err", "_process_info", "_process_msg", "_process_ping", "_process_pong", "_read_loop"),
    },
    Subscription: {"_id"},
    TcpTransport: {"_bare_io_reader", "_bare_io_writer", "_io_reader", "_io_writer"},
    WebSocketTransport: {"_ws"},
}
MODULES = sorted(Path(inspect.getfile(connect)).parent.glob("*.py"))


def private_names(module: ast.Module) -> set[str]:
    """Private attributes that no class and no assignment of the module defines."""
    nodes = list(ast.walk(module))
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    foreign = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }
    return foreign - (own - set().union(*PRIVATE.values()))


def test_nats_py_has_the_names() -> None:
    missing = {
        f"{owner.__name__}.{name}"
        for owner, names in PRIVATE.items()
        for name in names
        if not hasattr(owner, name) and f"self.{name}" not in inspect.getsource(owner.__init__)  # type: ignore[misc]
    }
    assert missing == set()


def test_no_others_are_used() -> None:
    used = set().union(*(private_names(ast.parse(module.read_text("utf-8"))) for module in MODULES))
    assert used - set().union(*PRIVATE.values()) == set()
    assert {"_process_msg", "_id"} <= used
