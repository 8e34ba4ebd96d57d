"""Generated code of the contract: arbiter.api.worker.v1."""
