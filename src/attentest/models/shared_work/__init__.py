"""Work shared between texts that differ in little: along a line, in one token, in what is deleted."""
