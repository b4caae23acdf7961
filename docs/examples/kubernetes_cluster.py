"""Run a sweep on Kubernetes, where the Dask operator is installed."""

from dask_kubernetes.operator import KubeCluster

import hostsim

if __name__ == "__main__":
    with KubeCluster(name="hostsim", image="registry.example/hostsim:0.1", n_workers=20) as cluster:
        results = hostsim.run("my.yaml", cluster=cluster.scheduler_address)
