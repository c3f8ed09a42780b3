"""Horovod for Keras 3, under the names of `horovod.tensorflow.keras`.

    import dsportal.horovod_keras as hvd

    hvd.init()
    model.compile(optimizer=hvd.DistributedOptimizer(keras.optimizers.Adam(1e-3 * hvd.size())),
                  loss=..., jit_compile=False)
    model.fit(..., callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])

Horovod's own layer was written for Keras 2 and does not average gradients under Keras 3.
"""

import keras
from horovod.tensorflow import (
    Average,
    Compression,
    Sum,
    allgather,
    allgather_object,
    allreduce,
    broadcast,
    broadcast_object,
    broadcast_variables,
    cross_rank,
    cross_size,
    init,
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)

from dsportal.errors import LaunchError
from dsportal.rendezvous.import_hooks import is_keras_2

# On import, before a model is built for the wrong layer.
if is_keras_2():
    raise LaunchError(
        f"Keras is {keras.__version__} here. This layer is for Keras 3; under Keras 2 use "
        "'import horovod.tensorflow.keras as hvd', which averages there."
    )

from dsportal.frameworks import horovod_callbacks as callbacks
from dsportal.frameworks.horovod_optimizer import DistributedOptimizer, check_optimizer

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "Sum",
    "allgather",
    "allgather_object",
    "allreduce",
    "broadcast",
    "broadcast_object",
    "broadcast_variables",
    "callbacks",
    "check_optimizer",
    "cross_rank",
    "cross_size",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "rank",
    "shutdown",
    "size",
]
