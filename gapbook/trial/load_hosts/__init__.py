"""Load from other hosts: clients there, one server here, started as one by clocks that are known to each other."""
