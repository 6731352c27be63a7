"""As much of clu as the programs need: metrics that each device has and all are given."""
