"""The user's runs, those trainings that `portal.launch.run` started: their folders and states."""
