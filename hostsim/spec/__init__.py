"""WHAT the host is: frozen, checked values. Text with units becomes numbers here; nothing here has behaviour."""
