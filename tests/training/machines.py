"""Two machines on one: network namespaces joined by a cable, each with its own address."""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess

import pytest

ADDRESSES = ("192.0.2.1", "192.0.2.2")  # reserved for documentation, and only known inside the namespaces
INTERFACE = "cable"
_numbers = itertools.count()


@contextlib.contextmanager
def two_machines():
    """Yield the names of two namespaces, whose processes end with the block; skip the test where there can be none."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need the command `ip` of iproute2")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    stem = f"grpe-{os.getpid()}-{next(_numbers)}"
    names = [f"{stem}-{letter}" for letter in "ab"]
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                _ip("netns", "add", name)
                stack.callback(_remove, name)
            cable = ["link", "add", INTERFACE, "netns", names[0], "type", "veth"]
            _ip(*cable, "peer", "name", INTERFACE, "netns", names[1])
            for name, address in zip(names, ADDRESSES, strict=True):
                _ip("-n", name, "address", "add", f"{address}/30", "dev", INTERFACE)
                _ip("-n", name, "link", "set", INTERFACE, "up")
                _ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces cannot be made here: {error.stderr.strip()}")
        yield names


def on_machine(name, command, log, *, read_only, **options):
    """Start a command in a namespace, where the folder `read_only` cannot be written to; its output goes to `log`."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    command = ["ip", "netns", "exec", name, "sh", "-c", mount, str(read_only), *map(str, command)]
    with log.open("w") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **options)


def _ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20).stdout


def _remove(name):
    with contextlib.suppress(subprocess.SubprocessError):
        for process in _ip("netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=20)
