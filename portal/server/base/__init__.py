"""What all features of a session share; it imports none of them."""
