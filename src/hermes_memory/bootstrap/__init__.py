"""The composition root: the only place that knows every part and `dependency_injector`."""
