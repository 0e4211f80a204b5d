"""Which gateway a call goes to, how often it is repeated, and what becomes of gateways that fail."""
