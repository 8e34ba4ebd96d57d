"""Generated code of the contract: arbiter.api.gate.v1."""
