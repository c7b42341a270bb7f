"""An executor that runs on a Ray cluster, whose machines share the file system."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import ray
from ray.exceptions import RayError, RayTaskError

from dragoman.data.executors import Task, finish
from dragoman.data.prepare import Done
from dragoman.errors import DragomanError


def in_ray(workers: int, tasks: Sequence[Task]) -> Iterator[Done]:
    """Run the tasks on the cluster at RAY_ADDRESS, or in `workers` processes of this machine."""
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, **quiet}
    ray.init(**local)
    try:
        run = ray.remote(finish)
        waiting = [run.remote(task) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
    except RayTaskError as error:  # raised by a task
        raise (error.cause if isinstance(error.cause, DragomanError) else lost(error)) from None
    except RayError as error:  # a machine or a process was lost
        raise lost(error) from None
    finally:
        ray.shutdown()


def lost(error: Exception) -> DragomanError:
    last_line = str(error).strip().rpartition("\n")[2]
    return DragomanError(
        f"Ray could not finish a task: {last_line}",
        hint="Run the same command again; finished shards are kept.",
    )
