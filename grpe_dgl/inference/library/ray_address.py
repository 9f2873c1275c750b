"""Join a running Ray cluster, or raise in bounded time.

``ray.init`` itself waits for minutes if nothing answers at an address, or something that is not Ray. It also replaces
127.0.0.1 by the machine's own address, at which a cluster that was started on 127.0.0.1 does not listen.
"""

import contextlib
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

from grpe_dgl.errors import InputError

ANSWER_SECONDS = 5.0
"""How long a machine has to accept a connection."""
JOIN_SECONDS = 60.0
"""How long a cluster that accepts connections has to let this process join."""
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def join_cluster(address: str) -> None:
    """Connect to the cluster at ``host:port``, or at ``auto`` to the one that this machine belongs to."""
    host, port = _host_and_port(address)
    where = f"address {address}" if address != "auto" else f"address auto ({host}:{port})"
    own = [host]
    if host in _LOOPBACK:
        from ray._private.services import get_node_ip_address  # what Ray puts in its place

        own = [get_node_ip_address(), "127.0.0.1"]
    answering = next((name for name in own if _answers(name, port)), None)
    if answering is None:
        raise InputError(
            f"{where}: no Ray cluster answers there; accepted: auto or host:port of the head of a running cluster, "
            "which Ray prints when it is started"
        )
    with _loopback_kept() if host in _LOOPBACK and answering == "127.0.0.1" else contextlib.nullcontext():
        _join(f"{answering}:{port}", where)


def _join(address: str, where: str) -> None:
    """Call ``ray.init`` in a thread of its own, so that this one can give up."""
    import ray

    failed: list[BaseException] = []

    def connect() -> None:
        try:
            ray.init(address=address, **QUIET)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=connect, daemon=True, name="ray-init")
    thread.start()
    thread.join(JOIN_SECONDS)
    if thread.is_alive():
        raise InputError(f"{where}: what answers there did not let this process join within {JOIN_SECONDS:.0f} seconds")
    if failed:
        raise InputError(f"{where}: joining failed: {' '.join(str(failed[0]).split())[:300]}") from failed[0]


def _host_and_port(address: str) -> tuple[str, int]:
    if address == "auto":
        from ray._private.services import get_ray_address_from_environment

        try:
            found = get_ray_address_from_environment("auto", None)
        except ConnectionError:
            found = None
        if found is None:
            raise InputError(
                "address auto: no Ray cluster is running on this machine; accepted: host:port of the head of another"
            )
        address = found
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(f"address {address}: accepted: auto, or host:port such as 192.0.2.1:6379")
    return host.strip("[]"), int(port)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def _loopback_kept() -> Iterator[None]:
    """Make Ray take 127.0.0.1 as it is, which it does on systems where it supports no clusters of several machines."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
