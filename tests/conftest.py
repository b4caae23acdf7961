"""Tests take parts of hosts apart, put others in their place and break them, which compiled classes do not allow: they run the sources, unless `make` says otherwise."""

import os

from hypothesis import settings

# before hostsim is imported; `test_compiled` holds compiled runs against these
os.environ.setdefault("HOSTSIM_PURE", "1")

# no deadline: an example takes longer on a busy machine, and no test is about time on the wall
settings.register_profile("hostsim", deadline=None)
settings.load_profile("hostsim")
