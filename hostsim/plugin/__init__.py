"""Plug-ins: policies, kinds of traffic and control loops from a user's own module, registered by name like the shipped ones."""
