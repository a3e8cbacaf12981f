"""What this host lacks, for the few tests that some hosts cannot run. The only place that
skips: it looks for the thing itself, so a skip of something the host can do cannot happen."""
import pathlib
import shutil

import pytest


def _swap():
    return len(pathlib.Path("/proc/swaps").read_text().splitlines()) > 1


def _cgroup_v2():
    controllers = pathlib.Path("/sys/fs/cgroup/cgroup.controllers")
    return controllers.exists() and "memory" in controllers.read_text().split()


def _ipv6():
    return pathlib.Path("/proc/net/if_inet6").exists()


PROBES = {
    "swap": (_swap, "no swap device is active"),
    "cgroup v2": (_cgroup_v2, "the cgroup v2 tree has no memory controller"),
    "ipv6": (_ipv6, "the kernel has no IPv6"),
    "bwrap": (lambda: shutil.which("bwrap"), "bubblewrap is not installed"),
}


def need(thing):
    """Skips the calling test, saying why, when the host lacks `thing`."""
    probe, why = PROBES[thing]
    if not probe():
        pytest.skip(f"this host: {why}")
