"""A guest with Debian 12's own kernel, for what the host's kernel cannot show: pure cgroup v2
and the oldest kernel that is supported. Booted by QEMU without hardware help (TCG), from an
initramfs that holds the programs under test, their libraries and busybox; no disk, no network.

Used by tests/guest."""
import gzip
import os
import pathlib
import re
import shutil
import stat
import subprocess

from broker import ROOT

BUSYBOX = "/bin/busybox"
KERNEL_PACKAGE = "linux-image-cloud-amd64"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"
MARK = "@@"  # lines of the guest's own on the console
BOOT_SECONDS = 240

# The initramfs is copied into a tmpfs first: pivot_root(2) does not work on a rootfs.
INIT = """#!/bin/sh
mkdir /new && mount -t tmpfs -o size=70% tmpfs /new || poweroff -f
cp -a /bin /sbin /lib /lib64 /usr /etc /modules /guest /new/
cd /new && mkdir -p dev proc sys tmp var/tmp run root home
exec switch_root /new /guest/stage2
"""

STAGE2 = f"""#!/bin/sh
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; mount -t cgroup2 cgroup2 /sys/fs/cgroup
chmod 1777 /tmp /var/tmp; ip link set lo up; dmesg -n 1
for module in /modules/*.ko; do insmod $module; done
echo # the firmware leaves a line unfinished
for step in /guest/steps/*; do
    echo "{MARK} begin ${{step##*-}}"
    sh $step </dev/null 2>&1
    echo "{MARK} end ${{step##*-}} $?"
done
poweroff -f
"""


def _fetch_package(work):
    depends = subprocess.run(["apt-cache", "depends", KERNEL_PACKAGE], check=True,
                             capture_output=True, text=True).stdout
    package = re.search(r"Depends: (linux-image-\S+)", depends).group(1)
    subprocess.run(["apt-get", "download", "-q", package], cwd=work, check=True,
                   capture_output=True)


def _unpacked_kernel(directory):
    """The kernel's package, fetched once and not installed: the host need not boot it."""
    if not directory.exists():
        work = directory.with_suffix(".new")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            _fetch_package(work)
        except subprocess.CalledProcessError:  # no package lists, or old ones
            subprocess.run(["apt-get", "update", "-q"], check=True, capture_output=True)
            _fetch_package(work)
        subprocess.run(["dpkg-deb", "-x", *work.glob("*.deb"), work], check=True)
        work.rename(directory)
    return directory


class Kernel:
    def __init__(self):
        unpacked = _unpacked_kernel(ROOT / "build" / "guest-kernel")
        self.image = next(unpacked.glob("boot/vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")
        self.modules = next(unpacked.glob(f"**/lib/modules/{self.version}"))

    def module(self, name):
        return next(self.modules.glob(f"**/{name}.ko"))


def _libraries(program):
    """What the loader would load; none for a static program."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True)
    return re.findall(r"=> (/\S+)", listed.stdout) if listed.returncode == 0 else []


def _archive(tree):
    """An initramfs of a directory: cpio's "newc" (Documentation/driver-api/early-userspace/
    buffer-format.rst). Everything belongs to root."""
    def entry(name, mode, data):
        fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields)
        head += os.fsencode(name) + b"\0"
        return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)

    parts = []
    for path in sorted(tree.rglob("*")):
        status = path.lstat()
        data = b""
        if stat.S_ISLNK(status.st_mode):
            data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            data = path.read_bytes()
        parts.append(entry(str(path.relative_to(tree)), status.st_mode, data))
    parts.append(entry("TRAILER!!!", 0, b""))
    return gzip.compress(b"".join(parts), 1)


class Guest:
    """Programs by path on this host, and steps: (name, shell script) in order."""

    def __init__(self, directory, programs, steps):
        self.directory = pathlib.Path(directory)
        self.tree = self.directory / "tree"
        self.kernel = Kernel()
        self._make_system()
        for program in programs:
            self._add_program(pathlib.Path(program))
        for name in ("guest", "modules"):
            (self.tree / name).mkdir()
        shutil.copy(self.kernel.module("loop"), self.tree / "modules")
        self._add_script("init", INIT)
        self._add_script("guest/stage2", STAGE2)
        (self.tree / "guest/steps").mkdir()
        for number, (name, script) in enumerate(steps):
            self._add_script(f"guest/steps/{number:03}-{name}", script)

    def _make_system(self):
        for path in ("usr/local/bin", "usr/bin", "usr/sbin", "usr/lib64", LIBRARIES, "etc"):
            (self.tree / path).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (self.tree / name).symlink_to(f"usr/{name}")
        shutil.copy(BUSYBOX, self.tree / "usr/bin/busybox")
        applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True)
        for applet in set(applets.stdout.split()) - {"busybox"}:
            (self.tree / "usr/bin" / applet).symlink_to("busybox")
        shutil.copy(LOADER, self.tree / "usr/lib64")
        (self.tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
        (self.tree / "etc/group").write_text("root:x:0:\n")
        (self.tree / "etc/mtab").symlink_to("/proc/mounts")
        self._add_program(pathlib.Path("/sbin/mkfs.ext4"), "usr/sbin")

    def _add_program(self, program, where="usr/local/bin"):
        shutil.copy(program, self.tree / where)
        for library in _libraries(program):
            shutil.copy(library, self.tree / LIBRARIES)

    def _add_script(self, path, text):
        (self.tree / path).write_text(text)
        (self.tree / path).chmod(0o755)

    def run(self):
        """Boots, runs every step, powers off. Returns {step: (exit status, output)}."""
        initramfs = self.directory / "initramfs"
        initramfs.write_bytes(_archive(self.tree))
        console = subprocess.run(
            ["qemu-system-x86_64", "-accel", "tcg", "-m", "1536", "-smp", "2", "-nographic",
             "-no-reboot", "-nic", "none", "-kernel", self.kernel.image, "-initrd", initramfs,
             "-append", "console=ttyS0 quiet panic=-1"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=BOOT_SECONDS)
        text = console.stdout.decode(errors="replace").replace("\r", "")
        found = re.findall(rf"^{MARK} begin (\S+)\n(.*?)^{MARK} end \1 (\d+)$", text,
                           re.MULTILINE | re.DOTALL)
        assert found, text[-4000:] + console.stderr.decode(errors="replace")
        return {name: (int(status), output) for name, output, status in found}
