#!/bin/sh
dask scheduler --port 8786                         # on one machine
dask worker tcp://head:8786 --nthreads 1 --nworkers auto   # on every machine
