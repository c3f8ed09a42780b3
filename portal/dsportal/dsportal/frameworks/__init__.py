"""Horovod for Keras 3: the parts of `dsportal.horovod_keras`."""
