"""Plug-ins: user modules with policies, kinds of traffic and control loops, registered by name like shipped ones."""
