"""Keys, certificates and secrets, beside servers that ask for them and end with the folder."""
