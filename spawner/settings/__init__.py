"""Settings as tables of lines, each for portal.toml, trait, session and reference alike."""
