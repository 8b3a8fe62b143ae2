"""How fast stored rows get their vectors, and how long texts are best cut."""
