"""What administrators ask of a running hub: operations, users, tokens, the record of visits."""
