"""Horovod for Keras 3: the parts of `portal.launch.horovod_keras`."""
