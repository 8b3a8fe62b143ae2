"""Moving in: what another memory, or an export of this one, holds."""
