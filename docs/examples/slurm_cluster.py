"""Run a sweep on Slurm: the script submits the jobs of the workers, and hostsim hands them the runs."""

from dask_jobqueue import SLURMCluster

import hostsim

if __name__ == "__main__":
    with SLURMCluster(queue="compute", walltime="02:00:00", cores=32, processes=32, memory="64 GB") as cluster:
        cluster.scale(jobs=4)  # 128 workers of one thread; cluster.adapt(maximum_jobs=4) gives back those that idle
        results = hostsim.run("my.yaml", cluster=cluster.scheduler_address)
        print(results.table)
