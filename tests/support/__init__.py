"""What several suites share: a portal client, a private hub, waiting, contracts of fakes."""
