"""Work in a forked process that may lose its rights, or be killed at any of its system calls."""

import os
import signal
import sys


def answer_of(call, *, as_nobody=False):
    """The text that `call` returns in a forked process."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if as_nobody and os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writable, call().encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def killed_at(step, work):
    """Run `work` in a forked process that is killed right before its system call number `step`.

    Whether it was: False means that the work was done before it came to that.
    """
    child = os.fork()
    if child == 0:
        left = step

        def count(_frame, event, function):
            nonlocal left
            if event == "c_call" and function.__module__ in ("posix", "fcntl"):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.setprofile(count)
            work()
            sys.setprofile(None)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return False
