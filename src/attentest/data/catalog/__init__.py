"""Named corpora on this machine: found, installed, checked, prepared, cached."""
