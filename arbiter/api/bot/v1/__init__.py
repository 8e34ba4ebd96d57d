"""Generated code of the contract: arbiter.api.bot.v1."""
