"""Prints what a workload sees of its own boundary, then sleeps. Usage: inside.py SECONDS"""
import os
import sys
import time

status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
mounts = [line.split() for line in open("/proc/mounts")]
writable = sorted(fields[1] for fields in mounts
                  if "rw" in fields[3].split(",") and fields[1] != "/proc")
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
print("user              ", f"uid {os.getuid()}, gid {os.getgid()}")
print("processes         ", " ".join(sorted((p for p in os.listdir("/proc") if p.isdigit()), key=int)))
print("capabilities      ", status["CapEff"].strip(), "of", status["CapBnd"].strip())
print("no new privileges ", status["NoNewPrivs"].strip())
print("system call filter", {"0": "off", "2": "on"}.get(status["Seccomp"].strip(), "?"))
print("interfaces        ", " ".join(interfaces))
print("mounts            ", len(mounts), "of which writable:", " ".join(writable))
print("environment       ", " ".join(sorted(os.environ)))
sys.stdout.flush()
time.sleep(float(sys.argv[1]))
