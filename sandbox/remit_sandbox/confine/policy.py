"""Which system calls a cell may make: an allow-list; what is not named here answers ENOSYS.

A program that probes for a newer call falls back on ENOSYS and gives up on EPERM, so unknown calls,
`clone3` and `openat2` (whose arguments a filter cannot read) answer ENOSYS, and only calls that are
known and refused on purpose answer EPERM.
"""

from __future__ import annotations

import errno


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALLOWED = _names(
    """
    read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range dup dup2
    dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
    epoll_pwait2 eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime signalfd signalfd4
    stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 mkdir mkdirat readlink
    readlinkat getdents getdents64 getcwd chdir fchdir umask rename renameat renameat2 rmdir unlink unlinkat
    symlink symlinkat link linkat ftruncate fallocate fsync fdatasync sync_file_range syncfs flock fadvise64
    readahead sendfile
    splice tee vmsplice copy_file_range cachestat
    mmap munmap mremap mprotect madvise msync mincore brk mlock mlock2 munlock mlockall munlockall mseal
    pkey_alloc pkey_free pkey_mprotect map_shadow_stack get_mempolicy set_mempolicy mbind
    exit exit_group wait4 waitid getpid gettid getppid getpgid getpgrp getsid getuid geteuid getgid getegid
    getresuid getresgid getgroups getrusage times getcpu sysinfo uname getpriority capget
    rt_sigaction rt_sigprocmask rt_sigpending rt_sigreturn rt_sigsuspend rt_sigtimedwait sigaltstack pause
    alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
    futex futex_waitv futex_wake futex_wait futex_requeue set_robust_list set_tid_address rseq membarrier
    arch_prctl restart_syscall sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_getattr
    sched_get_priority_max sched_get_priority_min sched_rr_get_interval ioprio_get getrlimit setrlimit
    nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time getrandom
    getsockname getpeername getsockopt shutdown recvfrom recvmsg recvmmsg
    """
)
"""Calls that need no look at their arguments."""

PRETENDED = _names(
    """
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat futimesat
    """
)
"""Answer success and do nothing: an error breaks `shutil.copy` and many more."""

UNSUPPORTED = _names(
    """
    setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
    lremovexattr fremovexattr
    """
)
"""Answer ENOTSUP, as a file system without extended attributes does."""

REFUSED = _names(
    """
    socket connect bind listen accept accept4
    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd pidfd_send_signal
    rt_sigqueueinfo rt_tgsigqueueinfo get_robust_list
    unshare setns mount umount2 pivot_root chroot mount_setattr fsopen fsconfig fsmount fspick move_mount
    open_tree open_tree_attr name_to_handle_at open_by_handle_at quotactl quotactl_fd swapon swapoff acct
    add_key request_key keyctl bpf perf_event_open userfaultfd lsm_set_self_attr seccomp landlock_restrict_self
    shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
    inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark
    setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset setsid setpgid
    setpriority sched_setparam sched_setscheduler sched_setattr ioprio_set migrate_pages move_pages
    init_module finit_module delete_module kexec_load kexec_file_load reboot syslog sethostname setdomainname
    settimeofday clock_settime adjtimex clock_adjtime iopl ioperm modify_ldt vhangup sync execveat
    """
)
"""Answer EPERM."""

CHILDREN = frozenset({"fork", "vfork", "execve", "pidfd_open"})
"""Allowed in `process` isolation, EPERM elsewhere."""

INSPECTED = _names(
    """
    clone socketpair sendto sendmsg sendmmsg setsockopt ioctl fcntl prctl personality prlimit64
    sched_setaffinity kill tgkill tkill open openat creat mknod mknodat truncate
    """
)
"""Calls whose arguments decide; see `filters`."""

IOCTLS = (
    0x5401,  # TCGETS, which isatty() asks
    0x802C542A,  # TCGETS2
    0x540F,  # TIOCGPGRP
    0x5413,  # TIOCGWINSZ
    0x541B,  # FIONREAD
    0x5411,  # TIOCOUTQ
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
    0x40049409,  # FICLONE
    0x4020940D,  # FICLONERANGE
)
"""The only ioctls: none that types into a terminal, sets flags of a file or owns a signal."""

PRCTLS = (
    2,  # PR_GET_PDEATHSIG
    3,  # PR_GET_DUMPABLE
    15,  # PR_SET_NAME
    16,  # PR_GET_NAME
    21,  # PR_GET_SECCOMP
    23,  # PR_CAPBSET_READ
    29,  # PR_SET_TIMERSLACK
    30,  # PR_GET_TIMERSLACK
    38,  # PR_SET_NO_NEW_PRIVS
    39,  # PR_GET_NO_NEW_PRIVS
    41,  # PR_SET_THP_DISABLE
    42,  # PR_GET_THP_DISABLE
    0x53564D41,  # PR_SET_VMA, by which the C library names its maps
)
"""The only prctls; PR_SET_PDEATHSIG is not one of them, since a cell dies with its supervisor."""

FCNTLS_REFUSED = (
    8,  # F_SETOWN
    10,  # F_SETSIG
    15,  # F_SETOWN_EX
    1024,  # F_SETLEASE
    1026,  # F_NOTIFY
)
"""Signals to other processes, leases that stop the host from opening a file, watches on folders."""

REFUSAL = errno.EPERM
