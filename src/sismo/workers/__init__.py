"""Many tasks at once, on the cores of this machine (``joblib_pool``) or on a Ray cluster (``ray_cluster``), through one small door."""

from __future__ import annotations

from sismo.workers.types import Done, Workers

__all__ = ["Done", "Workers", "hire"]


def hire(jobs: int | None = None, ray: str | None = None) -> Workers:
    """Workers for a job.

    Arguments:
        jobs: how many; all cores that this process may use without it. ray: address of a Ray cluster, or ``local`` for one that is
            started here with so many workers; without it the workers are processes of this machine.

    Raises ``MissingExtra`` where Ray is asked for and not installed.
    """
    if ray is not None:
        from sismo.workers.ray_cluster import RayCluster

        return RayCluster(ray, jobs)
    from sismo.workers.joblib_pool import JoblibPool

    return JoblibPool(jobs)
