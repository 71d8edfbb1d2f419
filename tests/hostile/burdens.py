"""Programs that use up what a sandbox has, and programs that look for a way out. Each ends by itself within a minute."""

GUARD = "import os, sys, time\nif not os.path.exists('/.dockerenv'):\n    raise SystemExit('not in a container, nothing done')\n"

BURDENS = {
    "memory": "a = []\nwhile len(a) < 6000: a.append(bytearray(1 << 20)); a[-1][::4096] = b'x' * 256\n",
    "memory by 2 GiB at once": "import mmap\nm = mmap.mmap(-1, 2 << 30)\nfor i in range(0, 2 << 30, 4096): m[i] = 1\n",
    "locked memory": "import ctypes, mmap\nm = mmap.mmap(-1, 64 << 20)\nctypes.CDLL(None).mlockall(3)\n",
    "memfd": "fs = [os.memfd_create('x') for _ in range(900)]\nfor f in fs:\n    os.write(f, b'x' * (2 << 20))\n",
    "temporary files": "f = open('/tmp/f', 'wb')\nfor _ in range(2048): f.write(b'x' * (1 << 20))\n",
    "inodes of /tmp": "for i in range(100000): os.close(os.open('/tmp/i%d' % i, os.O_CREAT | os.O_WRONLY))\n",
    "inodes of shared memory": "for i in range(100000): os.close(os.open('/dev/shm/i%d' % i, os.O_CREAT | os.O_WRONLY))\n",
    "descriptors": "fs = []\nwhile len(fs) < 100000: fs.append(os.open('/dev/null', os.O_RDONLY))\n",
    "pipes": "import fcntl\nps = []\nwhile len(ps) < 5000:\n    r, w = os.pipe(); ps.append((r, w)); os.set_blocking(w, False); os.write(w, b'x' * 65536)\n",
    "epoll and eventfd": "import select\nes = []\nwhile len(es) < 50000: es.append(select.epoll())\n",
    "inotify": "import ctypes\nl = ctypes.CDLL(None)\nwhile l.inotify_init() >= 0: pass\n",
    "semaphores": "import ctypes\nl = ctypes.CDLL(None)\nfor _ in range(40000): l.semget(0, 1, 0o600)\n",
    "shared memory segments": "import ctypes\nl = ctypes.CDLL(None)\nfor _ in range(4096):\n    i = l.shmget(0, 1 << 20, 0o600)\n    if i < 0: break\n",
    "message queues": "import ctypes\nl = ctypes.CDLL(None)\nfor _ in range(4096): l.msgget(0, 0o600)\n",
    "deep recursion": "sys.setrecursionlimit(10**7)\ndef f(): f()\nf()\n",
    "a crash": "import ctypes\nctypes.string_at(0)\n",
    "a huge exception": "raise ValueError('x' * (64 << 20))\n",
    "output without a newline": "for _ in range(2048): os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)\n",
    "a flood of results": "for _ in range(4096): os.write(3, b'[' * 65536)\n",
    "bytes that are no text": "os.write(1, bytes(range(256)) * 4096)\n",
    "warnings": "import warnings\nwarnings.simplefilter('always')\nfor i in range(100000): warnings.warn('w%d' % i)\n",
    "a spin that ignores signals": "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\nwhile True: pass\n",
    "a regular expression": "import re\nre.match('(a+)+$', 'a' * 40 + 'b')\n",
    "a daemon": "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(50)\n",
    "a child that holds the pipes": "if os.fork(): os._exit(0)\ntime.sleep(50)\n",
    "everybody stopped": "import signal\nfor _ in range(20):\n    if os.fork() == 0: time.sleep(50)\nos.kill(-1, signal.SIGSTOP)\ntime.sleep(50)\n",
    "zombies": "for _ in range(3000):\n    try:\n        if os.fork() == 0: os._exit(0)\n    except OSError: break\ntime.sleep(1)\n",
    "orphans": "for _ in range(300):\n    try:\n        if os.fork() == 0:\n            if os.fork() == 0: time.sleep(50)\n            os._exit(0)\n    except OSError: break\n",
    "64 busy processes": "for _ in range(64):\n    if os.fork() == 0:\n        while True: pass\nwhile True: pass\n",
    "a bomb of vforks": "import subprocess\nfor _ in range(400):\n    try: subprocess.Popen(['/bin/sleep', '40'])\n    except OSError: break\ntime.sleep(40)\n",
    "threads": "import threading\ntry:\n    for _ in range(5000): threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\nexcept RuntimeError: pass\n",
    "2000 folders": "for _ in range(2000):\n    try: os.mkdir('d'); os.chdir('d')\n    except OSError: break\n",
    "a closed work tree": "os.chmod('/work/repo', 0); os.chmod('/work', 0)\n",
    "no work tree": "import shutil\nshutil.rmtree('/work/repo', ignore_errors=True)\n",
    "a link for a work tree": "os.rename('/work/repo', '/work/x'); os.symlink('/etc', '/work/repo')\n",
    "a large environment": "try: os.execve('/bin/true', ['x' * 100000] * 10, {'A': 'x' * 100000})\nexcept OSError: pass\n",
    "priorities": "try: os.nice(-20)\nexcept OSError: pass\nos.sched_setaffinity(0, {0})\n",
    "limits": "import resource\nfor r in range(16):\n    try: resource.setrlimit(r, (0, 0))\n    except (OSError, ValueError): pass\n",
    "signals to PID 1": "for s in range(1, 65):\n    try: os.kill(1, s)\n    except OSError: pass\n",
}
"""Ended by their limits, or by themselves; the sandbox goes on."""

PROBE = r"""
import ctypes, errno, fcntl, glob, os, socket, struct, sys
bad = []
libc = ctypes.CDLL(None, use_errno=True)
def opens(path, flags):
    try: os.close(os.open(path, flags)); return True
    except OSError: return False
for path in glob.glob("/proc/1/*") + ["/proc/1/task/1/mem", "/proc/1/map_files"]:
    name = os.path.basename(path)
    if name in ("mem", "environ", "maps", "smaps", "pagemap", "stack", "syscall", "auxv", "personality", "io", "timers") and opens(path, os.O_RDONLY):
        try:
            if os.read(os.open(path, os.O_RDONLY), 1) and name != "timers": bad.append("reads " + path)
        except OSError: pass
    if name in ("fd", "root", "cwd", "exe", "ns"):
        try: os.listdir(path) if name in ("fd", "root") else os.readlink(path); bad.append("enters " + path)
        except OSError: pass
writable = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
    "/proc/sys/fs/binfmt_misc/register", "/proc/1/oom_score_adj", "/sys/kernel/uevent_helper", "/sys/power/state", "/proc/kcore", "/dev/mem",
    "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/etc/passwd", "/etc/ld.so.preload",
    "/opt/metaagent/guest/wire.py", "/opt/env/bin/python", "/usr/bin/git", "/sys/fs/cgroup/x"]
writable += glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:20] + glob.glob("/sys/fs/cgroup/*/release_agent")
writable += glob.glob("/sys/fs/cgroup/**/devices.allow", recursive=True)[:5] + glob.glob("/sys/fs/cgroup/**/memory.limit_in_bytes", recursive=True)[:5]
bad += ["writes " + p for p in writable if opens(p, os.O_WRONLY)]
readable = ["/etc/shadow", "/proc/kcore", "/dev/kmsg", "/proc/1/environ", "/var/run/docker.sock", "/run/docker.sock", "/root/.ssh/id_rsa"]
bad += ["reads " + p for p in readable if opens(p, os.O_RDONLY)]
for p in glob.glob("/run/**", recursive=True) + glob.glob("/var/run/**", recursive=True) + glob.glob("/tmp/**", recursive=True):
    try:
        import stat
        if stat.S_ISSOCK(os.stat(p).st_mode): bad.append("socket " + p)
    except OSError: pass
for family in (*range(3, 10), *range(11, 16), *range(17, 46)):
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind).close(); bad.append("family %d" % family)
        except OSError: pass
        a = (ctypes.c_int * 2)()
        if libc.socketpair(family, kind, 0, a) == 0: bad.append("pair %d" % family)
for kind in (3,):
    try: socket.socket(2, kind, 1).close(); bad.append("raw")
    except OSError: pass
s = socket.socket(2, 1); s.settimeout(1)
for address in (("1.1.1.1", 443), ("169.254.169.254", 80), ("172.17.0.1", 2375), ("10.0.0.1", 53)):
    if s.connect_ex(address) in (0, errno.EINPROGRESS, errno.EAGAIN): bad.append("connects %s" % (address,))
if len([l for l in open("/proc/net/route").read().splitlines()[1:] if l.strip()]): bad.append("route")
CALLS = dict(unshare_user=(272, 0x10000000), unshare_cgroup=(272, 0x2000000), unshare_time=(272, 0x80), mount=(165, b"n", b"/mnt", b"tmpfs", 0, None),
    umount=(166, b"/tmp", 2), ptrace=(101, 0, 0, 0, 0), seize=(101, 0x4206, 1, 0, 0), io_uring=(425, 1, ctypes.create_string_buffer(120)), bpf=(321, 0, None, 0),
    userfaultfd=(323, 1), keyctl=(250, 0, -3, 0), add_key=(248, b"user", b"x", b"y", 1, -3), request_key=(249, b"user", b"x", None, -3),
    perf=(298, ctypes.create_string_buffer(128), 0, -1, -1, 0), by_handle=(304, -1, None, 0), module=(175, None, 0, b""), finit=(313, -1, b"", 0), kexec=(246, 0, 0, None, 0),
    setns=(308, 0, 0), pivot=(155, b"/", b"/"), fsopen=(430, b"tmpfs", 0), open_tree=(428, -100, b"/", 0), mount_setattr=(442, -100, b"/", 0, None, 0),
    chroot=(161, b"/"), memfd_secret=(447, 0), hostname=(170, b"x", 1), domain=(171, b"x", 1), setuid0=(105, 0), setgid0=(106, 0), mknod=(133, b"/tmp/nod", 0o20666, 0x103),
    clone_user=(56, 0x10000000 | 17, 0, 0, 0, 0), clone_net=(56, 0x40000000 | 17, 0, 0, 0, 0), clone3=(435, ctypes.create_string_buffer(88), 88), vm_readv=(310, 1, None, 0, None, 0, 0),
    vm_writev=(311, 1, None, 0, None, 0, 0), getfd=(438, -1, 0, 0), kcmp=(312, 1, 1, 0, 0, 0), x32=(0x40000000 | 39,), swapoff=(168, b"/x"), swapon=(167, b"/x", 0), reboot=(169, 0, 0, 0),
    settime=(227, 0, ctypes.create_string_buffer(16)), adjtime=(159, ctypes.create_string_buffer(208)), fanotify=(300, 0, 0), quotactl=(179, 0, None, 0, None), acct=(163, None), iopl=(172, 3),
    vmsplice=(278, -1, None, 0, 0), mbind=(237, None, 0, 0, None, 0, 0), move_pages=(279, 0, 0, None, None, None, 0), syslog=(103, 3, None, 0), lookup=(212, 0, None, 0))
SAFE = {"clone3": (errno.ENOSYS, errno.EINVAL), "x32": (errno.EPERM, errno.ENOSYS)}
for name, call in CALLS.items():
    read, write = os.pipe(); pid = os.fork()
    if pid == 0:
        ctypes.set_errno(0); value = libc.syscall(*call); number = ctypes.get_errno()
        if call[0] in (56, 435) and value == 0: os._exit(0)
        os.write(write, struct.pack("ii", value, number)); os._exit(0)
    os.close(write); answer = os.read(read, 8); os.close(read); os.waitpid(pid, 0)
    if len(answer) == 8:
        value, number = struct.unpack("ii", answer)
        wanted = SAFE.get(name, (errno.EPERM, errno.ENOSYS, errno.EACCES))
        if value >= 0 or number not in wanted: bad.append("call %s: %d errno %d" % (name, value, number))
master, slave = os.openpty() if os.path.exists("/dev/ptmx") else (-1, -1)
if slave >= 0:
    for request in (0x5412, 0x541C):
        try: fcntl.ioctl(slave, request, b"x"); bad.append("types into a terminal")
        except OSError: pass
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2": bad.append("unfiltered")
bad += [c + status[c].strip() for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[c], 16)]
if 0 in (os.getuid(), os.geteuid(), os.getgid(), *os.getgroups()): bad.append("root")
bad += ["environment " + n for n in os.environ if any(w in n.upper() for w in ("TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL"))]
for fd in range(4, 256):
    try: os.fstat(fd)
    except OSError: continue
    if fd not in (master, slave) and not os.readlink("/proc/self/fd/%d" % fd).startswith("socket:"): bad.append("descriptor %d" % fd)
print("FINDINGS", sorted(set(bad)))
"""
"""Asks for every right with arguments that use none of it."""
