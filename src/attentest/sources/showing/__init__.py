"""What people see of an audit of sources: in a terminal, and as a page."""
