"""What a script could do to the machine in a trial: each is a piece of Python that is run in a
sandbox, with the names of things outside that must stay as they are."""

# ruff: noqa: E501 - an attack is a line

LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
DAEMON = (
    "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        {}\n"
    "    os._exit(0)\n"
)
SLEEP = "import time; time.sleep(600)"

FILES = {
    "write": "open(elsewhere + '/old', 'w').write('x')",
    "append": "open(elsewhere + '/old', 'a').write('x')",
    "create": "open(elsewhere + '/new', 'w')",
    "create by a descriptor": "os.open(elsewhere + '/new', os.O_CREAT | os.O_WRONLY)",
    "create in C": LIBC + "libc.open((elsewhere + '/new').encode(), 0o101, 0o600)",
    "create by a system call": LIBC
    + "libc.syscall(2, (elsewhere + '/new').encode(), 0o101, 0o600)",
    "create through a link": "os.symlink(elsewhere, 'link'); open('link/new', 'w')",
    "create through a folder's descriptor": "os.open('new', 0o101, dir_fd=os.open(elsewhere, 0))",
    "create in a program": "import subprocess; subprocess.run(['touch', elsewhere + '/new'])",
    "create in a shell": "os.system('echo x > ' + elsewhere + '/new')",
    "create in another Python": "import subprocess, sys; subprocess.run([sys.executable, '-I', '-c',"
    ' f\'open({elsewhere!r} + "/new", "w")\'])',
    "remove": "os.remove(elsewhere + '/old')",
    "remove in C": LIBC + "libc.unlink((elsewhere + '/old').encode())",
    "remove a tree": "import shutil; shutil.rmtree(elsewhere)",
    "remove in a program": "import subprocess; subprocess.run(['rm', '-rf', elsewhere])",
    "rename": "os.rename(elsewhere + '/old', elsewhere + '/new')",
    "rename in C": LIBC + "libc.rename((elsewhere + '/old').encode(), b'here')",
    "link": "open('mine', 'w'); os.link('mine', elsewhere + '/new')",
    "symbolic link": "os.symlink('x', elsewhere + '/new')",
    "truncate": "os.truncate(elsewhere + '/old', 0)",
    "truncate in C": LIBC + "libc.truncate((elsewhere + '/old').encode(), 0)",
    "folder": "os.mkdir(elsewhere + '/new')",
    "pipe": "os.mkfifo(elsewhere + '/new')",
    "mode": "os.chmod(elsewhere + '/old', 0o777)",
    "mode in C": LIBC + "libc.chmod((elsewhere + '/old').encode(), 0o777)",
    "mode in a program": "import subprocess; subprocess.run(['chmod', '777', elsewhere + '/old'])",
    "mode by a descriptor": "os.fchmod(os.open(elsewhere + '/old', os.O_RDONLY), 0o777)",
    "owner": "os.chown(elsewhere + '/old', 12345, 12345)",
    "owner in C": LIBC + "libc.chown((elsewhere + '/old').encode(), 12345, 12345)",
    "times": "os.utime(elsewhere + '/old', (1, 1))",
    "times in C": LIBC + "libc.utimes((elsewhere + '/old').encode(), None)",
    "attribute": "os.setxattr(elsewhere + '/old', 'user.x', b'1')",
    "attribute in C": LIBC + "libc.setxattr((elsewhere + '/old').encode(), b'user.x', b'1', 1, 0)",
    "memory map": "import mmap; m = mmap.mmap(os.open(elsewhere + '/old', os.O_RDWR), 3); m[:] = b'xxx'",
    "database": "import sqlite3; sqlite3.connect(elsewhere + '/new').execute('create table t (x)')",
    "home": "open(home + '/new', 'w')",
    "profile at home": "open(home + '/.bashrc', 'a').write('x')",
    "cache: remove": "os.remove(home + '/.cache/model')",
    "cache: remove in C": LIBC + "libc.unlink((home + '/.cache/model').encode())",
    "cache: write": "open(home + '/.cache/model', 'w').write('x')",
    "cache: tree": "import shutil; shutil.rmtree(home + '/.cache')",
    "temporary: remove": "os.remove(temporary + '/old')",
    "temporary: remove in C": LIBC + "libc.unlink((temporary + '/old').encode())",
    "temporary: write": "open(temporary + '/old', 'w').write('x')",
    "temporary: create": "open(temporary + '/new', 'w')",
    "flags": "import fcntl; fcntl.ioctl(os.open(elsewhere + '/old', os.O_RDONLY), 0x40086602, (0x40).to_bytes(8, 'little'))",
    "write to what was opened to be read": "os.write(os.open(f'/proc/self/fd/{os.open(elsewhere + \"/old\", os.O_RDONLY)}', os.O_WRONLY), b'x')",
    "through folders of other processes": "import glob\nfor process in glob.glob('/proc/[0-9]*'):\n"
    "    for way in ('root', 'cwd/../../../../../..'):\n"
    "        try:\n            open(f'{process}/{way}{elsewhere}/new', 'w')\n        except OSError:\n            pass",
    "through inherited descriptors": "for name in os.listdir('/proc/self/fd'):\n"
    "    for up in range(9):\n"
    "        try:\n            os.open('../' * up + elsewhere[1:] + '/new', 0o101, dir_fd=int(name))\n        except OSError:\n            pass",
    "by handle": LIBC
    + "import struct\nhandle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136)\nid = ctypes.c_int()\n"
    "libc.name_to_handle_at(-100, (elsewhere + '/old').encode(), handle, ctypes.byref(id), 0)\n"
    "libc.open_by_handle_at(os.open('/', 0), handle, 0o1001)",
    "by another calling convention": LIBC
    + "libc.syscall(0x40000000 + 2, (elsewhere + '/new').encode(), 0o101, 0o600)\n"
    "libc.syscall(0x40000000 + 90, (elsewhere + '/old').encode(), 0o777)",
    "shared memory: create": "open('/dev/shm/' + mark + '-new', 'w')",
    "shared memory: remove": "os.remove('/dev/shm/' + mark + '-old')",
}
"""Done to files."""

MESSAGES = {
    "TCP": "import socket; socket.create_connection(('127.0.0.1', tcp), 2).send(b'x')",
    "TCP in C": LIBC + "import socket, struct\ns = libc.socket(2, 1, 0)\n"
    "libc.connect(s, struct.pack('<H', 2) + struct.pack('>H4s8x', tcp, bytes([127, 0, 0, 1])), 16)\n"
    "libc.write(s, b'x', 1)",
    "HTTP": "import urllib.request; urllib.request.urlopen(f'http://127.0.0.1:{tcp}/x', timeout=2)",
    "UDP": "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', udp))",
    "UDP in C": LIBC + "import struct\ns = libc.socket(2, 2, 0)\n"
    "libc.sendto(s, b'x', 1, 0, struct.pack('<H', 2) + struct.pack('>H4s8x', udp,"
    " bytes([127, 0, 0, 1])), 16)",
    "raw socket": "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_RAW, 17)\n"
    "s.sendto(udp.to_bytes(2, 'big') * 2 + bytes([0, 9, 0, 0]) + b'x', ('127.0.0.1', udp))",
    "UDP in a program": "import subprocess; subprocess.run(['bash', '-c', f'echo x > /dev/udp/127.0.0.1/{udp}'])",
    "Unix socket": "import socket; s = socket.socket(socket.AF_UNIX); s.connect(unix); s.send(b'x')",
    "abstract socket": "import socket; s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + mark); s.send(b'x')",
    "datagram of a pair": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', unix + '-datagrams')",
    "message of a pair": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)[0].sendmsg([b'x'], [], 0, '\\0' + mark + '-datagrams')",
    "pair in C": LIBC
    + "import struct\npair = (ctypes.c_int * 2)(); libc.socketpair(1, 2, 0, pair)\n"
    "name = struct.pack('H', 1) + unix.encode() + b'-datagrams'\nlibc.sendto(pair[0], b'x', 1, 0, name, len(name))",
    "pair led elsewhere": LIBC
    + "import struct\npair = (ctypes.c_int * 2)(); libc.socketpair(1, 2, 0, pair)\n"
    "name = struct.pack('H', 1) + unix.encode() + b'-datagrams'\nlibc.connect(pair[0], name, len(name)); libc.write(pair[0], b'x', 1)",
    "socket by another calling convention": LIBC
    + "import struct\ns = libc.syscall(0x40000000 + 41, 2, 2, 0)\n"
    "libc.sendto(s, b'x', 1, 0, struct.pack('<H', 2) + struct.pack('>H4s8x', udp, bytes([127, 0, 0, 1])), 16)",
    "pipe of a service": "os.write(os.open(elsewhere + '/pipe', os.O_WRONLY | os.O_NONBLOCK), b'x')",
    "pipe in C": LIBC + "libc.write(libc.open((elsewhere + '/pipe').encode(), 0o4001), b'x', 1)",
    "terminal": "open(terminal, 'wb', buffering=0).write(b'x')",
    "terminal in C": LIBC + "libc.write(libc.open(terminal.encode(), 0o401), b'x', 1)",
    "settings of a terminal": "import termios\nscreen = os.open(terminal, os.O_RDONLY | os.O_NOCTTY)\n"
    "kept = termios.tcgetattr(screen); kept[3] &= ~termios.ECHO; termios.tcsetattr(screen, 0, kept)",
    "size of a terminal": "import fcntl, termios\nfcntl.ioctl(os.open(terminal, os.O_RDONLY | os.O_NOCTTY), termios.TIOCSWINSZ, bytes([9, 0] * 4))",
    "kernel log": "open('/dev/kmsg', 'w').write(mark)",
    "kernel log in C": LIBC + "libc.write(libc.open(b'/dev/kmsg', 1), mark.encode(), len(mark))",
    "key": LIBC + "libc.syscall(248, b'user', mark.encode(), b'x', 1, -4)",
    "key of a session": LIBC + "libc.syscall(248, b'user', mark.encode(), b'x', 1, -3)",
    "queue of messages": LIBC + "libc.mq_open(('/' + mark).encode(), 0o101, 0o600, None)",
    "segment of memory": LIBC + "libc.shmget(key, 4096, 0o1600)",
}
"""Sent to services on this machine."""

PROCESSES = {
    "kill": "os.kill(bystander, 9)",
    "kill in C": LIBC + "libc.kill(bystander, 9)",
    "kill in a program": "import subprocess; subprocess.run(['kill', '-9', str(bystander)])",
    "kill all": LIBC + "libc.kill(-1, 0) == 0 and libc.kill(bystander, 9)",
    "kill the parent": "os.kill(os.getppid(), 9)",
    "kill the group": "os.killpg(os.getpgid(bystander), 9)",
    "lower priority": "os.setpriority(os.PRIO_PROCESS, bystander, 19)",
    "trace": LIBC + "libc.ptrace(16, bystander, 0, 0) == 0 and libc.ptrace(8, bystander, 0, 0)",
    "memory of another": "open(f'/proc/{bystander}/mem', 'wb')",
    "limits": "import resource; resource.prlimit(bystander, resource.RLIMIT_NOFILE, (1, 1))",
    "processors": "os.sched_setaffinity(bystander, {0})",
    "scheduler": "os.sched_setscheduler(bystander, os.SCHED_IDLE, os.sched_param(0))",
    "priority of input and output": LIBC + "libc.syscall(251, 1, bystander, 3 << 13)",
    "likelihood to be killed": "open(f'/proc/{bystander}/oom_score_adj', 'w').write('1000')",
    "kill by a descriptor": "import signal; signal.pidfd_send_signal(os.pidfd_open(bystander), 9)",
    "kill a thread": LIBC + "libc.syscall(234, bystander, bystander, 9)",
    "kill by a queue": LIBC + "libc.sigqueue(bystander, 9, None)",
    "kill by a pipe": "import fcntl\nread, write = os.pipe()\nfcntl.fcntl(read, 10, 9)\nfcntl.fcntl(read, fcntl.F_SETOWN, bystander)\n"
    "fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)\nos.write(write, b'x')",
    "child": "os.fork() or __import__('time').sleep(600)",
    "daemon": DAEMON.format(SLEEP),
    "daemon in a program": "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "daemon without a shell": DAEMON.format("os.execvp('sleep', ['sleep', '600'])"),
    "mount": LIBC + "libc.mount(b'none', elsewhere.encode(), b'tmpfs', 0, None)",
    "remount": LIBC + "libc.mount(None, b'/', None, 32, None)",
    "unmount": LIBC + "libc.umount2(home.encode(), 2)",
}
"""Done to other processes and to the system."""
