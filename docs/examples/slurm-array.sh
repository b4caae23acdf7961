#!/bin/bash
#SBATCH --array=1-20
#SBATCH --cpus-per-task=4
hostsim run my.yaml --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --jobs 4 --results "shards/$SLURM_ARRAY_TASK_ID"
