"""What the use cases need from the outside world, as protocols in the words of the domain."""
