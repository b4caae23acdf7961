"""SimPy's own tests of environment, events, conditions, interrupts, processes and resources, applied to the clock.

The files ``test_*.py`` are those of SimPy 4.1.2, unchanged, under the licence in ``LICENSE.rst`` (MIT). They come from its source
distribution, ``tests/``; left out are benchmarks, real time and the version. With another version of SimPy they are copied anew.
"""

VERSION = "4.1.2"
