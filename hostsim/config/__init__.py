"""SPECIFICATION of a host and its workload: frozen, checked values. Text with units becomes numbers here; nothing here has behaviour."""
