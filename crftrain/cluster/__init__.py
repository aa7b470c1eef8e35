"""Training with the processes of other machines: Dask.distributed places shards and carries messages, nothing else."""
