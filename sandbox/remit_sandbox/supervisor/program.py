"""Entry of the supervisor process: started by path with `-I -S`, single-threaded, without secrets.

Arguments: descriptor of the control socket, descriptor of the host's pidfd or -1, process id of the host,
the folder for temporary folders, the highest Landlock ABI to use, then the folders for `sys.path`.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys

_REPORTED_AS_ERRORS = (signal.SIGPIPE, signal.SIGXFSZ)


def _reset_signals() -> None:
    """The dispositions of a fresh Python and an empty mask, whatever the host had."""
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_IGN if number in _REPORTED_AS_ERRORS else signal.SIG_DFL)
        except (OSError, ValueError):
            continue
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _raise_open_files() -> None:
    """Two pipes a cell add up; cells get their own, lower limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        return


def _move_up(descriptor: int) -> int:
    """Out of the way of the numbers that a cell's descriptors get."""
    if descriptor < 0:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 16)
    os.close(descriptor)
    return moved


def _reserve_low_descriptors() -> None:
    """Keep the numbers 3 and 4 taken, so that a cell's descriptors overwrite nothing."""
    while (null := os.open(os.devnull, os.O_RDWR)) <= 4:
        pass
    os.close(null)


def main(arguments: list[str]) -> None:
    """Run until the host ends or closes the control socket."""
    _reset_signals()
    _raise_open_files()
    os.umask(0o077)
    os.chdir("/")
    control, host_pidfd = (_move_up(int(number)) for number in arguments[:2])
    _reserve_low_descriptors()
    sys.path.extend(arguments[5:])
    from remit_sandbox.supervisor.loop import Supervisor

    Supervisor(
        control=control,
        host_pidfd=host_pidfd,
        host=int(arguments[2]),
        folder=arguments[3],
        highest_abi=int(arguments[4]),
        site=arguments[5:],
    ).run()


if __name__ == "__main__":
    main(sys.argv[1:])
