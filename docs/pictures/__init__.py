"""How the pictures of the guides are taken: the browser, and one function for each scene."""
