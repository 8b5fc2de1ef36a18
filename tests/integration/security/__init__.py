"""Keys, certificates and secrets, tested with servers that require them."""
