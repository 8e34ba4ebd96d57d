"""Generated code of the contract: arbiter.api.ladder.v1."""
