"""What people's answers say: tables, agreement, quality, power, and whether an explanation is plausible to people."""
