"""One contender each for `benchmarks.frameworks`; every one runs in a process of its own."""
