"""Specification of a host and its workload: frozen, checked values without behaviour. Text with units becomes numbers here."""
