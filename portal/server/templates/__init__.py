"""The site's templates: copied into the home, and the cards of the launcher."""
