"""The `hermes-memory` command: argparse verbs over the application."""
