"""The user's runs, those trainings that `dsportal.run` started: their folders and states."""
