"""The bare runtime on the driver's own bundle: `crun run`, `runc run` or `runsc run` of a golden
config.json whose process is /bin/true. Runs in a mount and pid namespace of its own (bench.py starts
it so), where the bundle's places are laid out once; prints the median in milliseconds."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "drivers" / "container"
PLACE = pathlib.Path("/mnt")
WORDS = {"crun": ["--cgroup-manager=disabled"], "runc": ["--rootless=true"],
         "runsc": ["--network=none", "--ignore-cgroups", "--overlay2=none"]}


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def lay_out():
    mount("-t", "tmpfs", "-o", "mode=0755", "none", PLACE)
    for name in ("bundle", "state", "root", "tmp", "shm", "workspace"):
        (PLACE / name).mkdir()
    root = PLACE / "root"
    for name in ("dev", "proc", "tmp", "usr", "workspace"):
        (root / name).mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    mount("--bind", "/usr", root / "usr")
    mount("-t", "tmpfs", "none", root / "dev")
    (root / "dev" / "shm").mkdir()
    for name in ("null", "zero", "full", "random", "urandom"):
        device = os.stat(f"/dev/{name}")
        os.mknod(root / "dev" / name, device.st_mode, device.st_rdev)
        os.chmod(root / "dev" / name, 0o666)
    for name in ("shm", "tmp", "workspace"):
        mount("-t", "tmpfs", "-o", "nosuid,nodev", "none", PLACE / name)
    # As the driver shows it: crun refuses a hybrid tree.
    subprocess.run(["umount", "-R", "/sys/fs/cgroup"], check=True)
    mount("-t", "cgroup2", "none", "/sys/fs/cgroup")


def write_bundle(program):
    tier = "userkernel" if program == "runsc" else "container"
    spec = json.loads((GOLDEN / f"{tier}.json").read_text())
    spec["process"]["args"] = ["/bin/true"]
    maps = [{"containerID": 0, "hostID": 310001, "size": 1},
            {"containerID": 1000, "hostID": 310000, "size": 1}]
    spec["linux"].update(uidMappings=maps, gidMappings=maps)
    made = {namespace["type"] for namespace in spec["linux"]["namespaces"]}
    spec["linux"]["namespaces"] += [{"type": kind} for kind in ("user", "network")
                                    if kind not in made]
    (PLACE / "bundle" / "config.json").write_text(json.dumps(spec))


def main():
    program, platform, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    lay_out()
    write_bundle(program)
    words = [program, "--root", str(PLACE / "state"), *WORDS[program]]
    if platform:
        words += ["--platform", platform]
    times = []
    for number in range(rounds + 3):
        begun = time.perf_counter()
        subprocess.run([*words, "run", "--bundle", str(PLACE / "bundle"), f"bare{number}"],
                       check=True, stdin=subprocess.DEVNULL)
        times.append((time.perf_counter() - begun) * 1000)
    print(statistics.median(times[3:]))


if __name__ == "__main__":
    main()
