"""Files from a real host: recognised by content, read with the place of each value, and converted to a draft and
measurements.

One module reads each format (`esxtop`, `net_stats`, `esxcli_output`, `packets`). `contents` has their results, `reader`
selects a format, and `draft` writes the files.
"""
