"""Tests take parts of hosts apart, put others in their place and break them, which compiled classes do not allow."""

import os

os.environ.setdefault(
    "HOSTSIM_PURE", "1"
)  # before hostsim is imported; `test_compiled` holds compiled runs against these
