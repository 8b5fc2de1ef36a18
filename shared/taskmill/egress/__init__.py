"""What keeps calls to the endpoints of others away from everything internal."""
