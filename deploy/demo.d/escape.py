"""Runs inside a boundary and tries what a hostile program would try. One line an attempt:
"held" with what stopped it, or "ESCAPED". Exits 1 if anything got through."""
import ctypes
import os
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWUSER, PTRACE_ATTACH, MS_BIND = 0x10000000, 16, 4096
escaped = []


def checked(result):
    """A libc result; -1 becomes the OSError that it stands for."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def write(path, data=b"x"):
    with open(path, "wb") as file:
        file.write(data)


def host_processes():
    seen = [pid for pid in os.listdir("/proc") if pid.isdigit()]
    if len(seen) < 8:
        raise PermissionError(f"it sees its own only: {' '.join(seen)}")


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(3)
        connection.connect(address)


def interfaces():
    names = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
    others = [name for name in names if name != "lo"]
    if not others:
        raise PermissionError("there is no interface but lo")


def kill_all():
    """Signals everything it may signal; only its own kind could be hit."""
    if os.fork() == 0:
        os.setpgid(0, 0)
        try:
            os.kill(1, 9)
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    if status == 0:
        # pid 1 of a pid namespace ignores it: being alive here shows that.
        raise PermissionError("pid 1 of its own world ignores it")
    raise OSError(status, os.strerror(status))


def fork_bomb():
    """Forks until it is refused, then lets the children go."""
    gate, keep = os.pipe()
    count = 0
    try:
        while count < 100000:
            if os.fork() == 0:
                os.close(keep)
                os.read(gate, 1)
                os._exit(0)
            count += 1
    except OSError as error:
        raise PermissionError(f"refused after {count} processes: {error.strerror}") from error
    finally:
        os.close(keep)
        for _ in range(count):
            os.wait()


ATTEMPTS = {
    "read /etc/shadow": lambda: read("/etc/shadow"),
    "read the host's root through /proc/1/root": lambda: os.listdir("/proc/1/root/root"),
    "write to /usr/bin": lambda: write("/usr/bin/owned"),
    "write to /etc": lambda: write("/etc/owned"),
    "see the host's processes": host_processes,
    "kill pid 1": kill_all,
    "trace pid 1": lambda: checked(libc.ptrace(PTRACE_ATTACH, 1, 0, 0)),
    "become root": lambda: os.setuid(0),
    "make a user namespace": lambda: checked(libc.unshare(CLONE_NEWUSER)),
    "mount over /usr": lambda: checked(libc.mount(b"/tmp", b"/usr", None, MS_BIND, None)),
    "change its root": lambda: os.chroot("/tmp"),
    "make a disk device": lambda: os.mknod("/tmp/disk", 0o600 | 0o060000, os.makedev(8, 0)),
    "read the kernel's memory": lambda: read("/dev/mem"),
    "raise its cgroup's limits": lambda: write("/sys/fs/cgroup/cgroup.procs", b"0"),
    "set the host's core_pattern": lambda: write("/proc/sys/kernel/core_pattern", b"|/tmp/x"),
    "press sysrq": lambda: write("/proc/sysrq-trigger", b"h"),
    "see another network interface": interfaces,
    "reach 192.0.2.1": lambda: connect(socket.AF_INET, ("192.0.2.1", 80)),
    "open a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "read the broker's tokens": lambda: os.listdir(sys.argv[1]),
    "fork without end": fork_bomb,
}

for name, attempt in ATTEMPTS.items():
    try:
        attempt()
    except OSError as error:
        print(f"held     {name}: {error.strerror or error}")
    else:
        print(f"ESCAPED  {name}")
        escaped.append(name)
print(f"{len(ATTEMPTS) - len(escaped)} of {len(ATTEMPTS)} attempts held")
sys.exit(1 if escaped else 0)
