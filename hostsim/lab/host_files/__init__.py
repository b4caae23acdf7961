"""Files from a real host: recognised by content, read with their places, and turned into a draft and measurements.

One module for each format (`esxtop`, `net_stats`, `esxcli_output`, `packets`). `found` has their results, `reader` selects a format, and
`draft` writes the files.
"""
