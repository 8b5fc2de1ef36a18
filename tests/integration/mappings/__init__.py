"""Mappings, beside one broker that ends with the folder."""
