"""Runs every attempt as root without a boundary, so that each is seen to be able to succeed.

    unshare --mount --uts --ipc --net --pid --cgroup --fork --mount-proc \\
        python3 without_boundary.py PROGRAM

The namespaces keep the host out of it; inside them nothing is refused. Prints what the program
printed."""
import os
import pathlib
import subprocess
import sys

from canaries import OUTSIDE_IPV4, OUTSIDE_IPV6, Canaries, ignore_signals

# Every address answers here, so a packet that would have left is one that arrives.
SET_UP = [
    "ip link set lo up",
    f"ip address add {OUTSIDE_IPV4}/32 dev lo",
    "ip address add 169.254.169.254/32 dev lo",
    f"ip -6 address add {OUTSIDE_IPV6}/128 dev lo nodad",
    "ip route add local default dev lo",
]


def main():
    # Pid 1 of the namespace has to be another process: it is a target.
    if os.getpid() == 1:
        sys.exit(subprocess.run([sys.executable, *sys.argv]).returncode)
    program = pathlib.Path(sys.argv[1]).resolve()
    for command in SET_UP:
        subprocess.run(command.split(), check=True)
    ignore_signals()
    with Canaries() as canaries:
        (canaries.directory / "work").mkdir()
        (canaries.directory / "read-only").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs",
                        canaries.directory / "read-only"], check=True)
        try:
            # The file is stdin, and the abstract socket is left open: both can be found.
            with canaries.file.open() as standard_input:
                subprocess.run([program, "--without-boundary", *canaries.arguments()],
                               stdin=standard_input, cwd=canaries.directory / "work",
                               pass_fds=[canaries.abstract.fileno()])
        finally:
            subprocess.run(["umount", canaries.directory / "read-only"], check=True)


main()
