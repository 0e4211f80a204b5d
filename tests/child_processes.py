"""The child processes of a process, as the system lists them."""

from __future__ import annotations

import os

import psutil


def workers_of(pid: int | None = None) -> list[psutil.Process]:
    """Return the workers that the process *pid* (this one by default) has, the first to be started first."""
    children = psutil.Process(os.getpid() if pid is None else pid).children()
    return sorted(filter(_is_worker, children), key=lambda child: (child.create_time(), child.pid))


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "webtable._processes:work" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
