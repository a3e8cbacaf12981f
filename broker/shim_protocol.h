/* Frames between bulkheadd and one bulkhead-shim. Both sides use base/wire; an unknown type or
 * member is a protocol error.
 *
 * broker → shim
 *   {"type": "start", "execution": id, "plan": {…}, "host": {"state_dir", "run_dir",
 *    "cgroup_parent", "uid_base"}, "instance": {"workload_uid", "init_uid"},
 *    "files": [{"path", "mode", "offset", "length"}], "stdin": {"offset", "length"}|null,
 *    "payload": bool, "workspace_image": bool}
 *      descriptors: the payload memfd and the workspace's image where said, then the source of each
 *      of the plan's mounts, in its order (O_PATH, opened once: what it holds is what gets
 * mounted). All in this one frame, which is why BH_WIRE_FDS_MAX is what it is. Once, first. The
 * shim builds the boundary; meanwhile the broker writes the execution to disk.
 *   {"type": "go"}                        the execution is on disk: the workload may start
 *      descriptors: the execution's directory, its new files stdout and stderr. Once. A shim whose
 * broker goes away before it gives up: it removes the boundary and leaves no result.
 *   {"type": "watch", "on": bool}         report output growth (below) or stop
 *   {"type": "kill", "outcome": "killed"|"retiered", "detail": "…"}
 *   {"type": "adopt"}                     first frame on control.sock after a broker restart
 *   {"type": "taken"}                     the result is stored; the shim may exit
 *
 * shim → broker
 *   {"type": "state", "state": "provisioning"|"running", "at_ms": epoch ms}
 *   {"type": "output", "stdout": bytes kept, "stderr": bytes kept}
 *   {"type": "status", "state", "at_ms": …, "started_ms"|null}  the answer to adopt; when ended, a
 * "result" follows
 *   {"type": "result", "outcome": "exited"|"signaled"|"timeout"|"cpu_limit"|"oom"|"killed"|
 *    "retiered"|"lost"|"boundary_failed", "exit_code": n|null, "signal": "SIGSEGV"|null,
 *    "detail": "…", "usage": {"wall_ms", "cpu_ms", "memory_peak_bytes", "oom_kills"},
 *    "timing": {"provision_ms", "run_ms", "teardown_ms"}, "started_ms": n|null, "ended_ms": n,
 *    "stdout": {"bytes", "dropped_bytes"}, "stderr": {…}, "evidence": {…}|null}
 *      `bytes` counts all that the workload wrote; kept = bytes - dropped_bytes. Sent when every
 *      process of the boundary is gone and the boundary is destroyed. Written to result.json
 *      in the execution's directory (same object) when no broker takes it.
 */
#ifndef BULKHEAD_BROKER_SHIM_PROTOCOL_H
#define BULKHEAD_BROKER_SHIM_PROTOCOL_H

#define BH_SHIM_CHANNEL_FD     3
#define BH_SHIM_ORDER_FDS      2 /* beside those of mounts, at most */
#define BH_SHIM_CONTROL_SOCKET "control.sock"
#define BH_SHIM_RESULT_FILE    "result.json"
#define BH_SHIM_RESULT_MAX     ((size_t)256 << 10) /* bytes */

#endif
