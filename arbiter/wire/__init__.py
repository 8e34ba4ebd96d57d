"""Between the contract's messages and the engine's values, where both ends of the wire need the same conversion."""

from arbiter.wire.rule_set import rules_from_message, rules_to_message

__all__ = ["rules_from_message", "rules_to_message"]
