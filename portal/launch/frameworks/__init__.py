"""Horovod for Keras 3: what `portal.launch.horovod_keras` is made of."""
