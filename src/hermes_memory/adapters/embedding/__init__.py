"""Embedders behind the port: OpenAI and Ollama endpoints over HTTP, and a model inside the process."""
