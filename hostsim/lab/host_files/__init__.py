"""Files that a host writes: recognised by their content, read with their places, and turned into a draft of the host and its measurements.

One module for each format (`esxtop`, `net_stats`, `esxcli_output`, `packets`). `found` has their results, `reader` selects a format, and
`draft` writes the files.
"""
