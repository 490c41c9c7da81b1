"""Studies of people in a browser: what annotators see, by their link alone, and what whoever runs the study sees."""
