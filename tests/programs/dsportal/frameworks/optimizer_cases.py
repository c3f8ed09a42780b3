"""What two ranks do with DistributedOptimizer, run in the environment of TensorFlow.

Prints a line for each case, OUTCOME and JSON, as tests/support/launch_cases.py does. Both ranks do
all cases, one after the other.
"""

import faulthandler
import json

from dsportal import run

LONGEST_S = 300


def do_all_cases():
    """Runs on a rank: returns what each case found, by its name."""
    import keras
    import tensorflow as tf

    import dsportal.horovod_keras as hvd

    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    found = {}

    def case(function):
        found[function.__name__] = function()

    def said_by(function, *arguments, **options):
        try:
            function(*arguments, **options)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def make_model(optimizer, **options):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile(optimizer=optimizer, loss="mse", **options)
        return model

    def values_after_a_step(**options):
        """Return what gradients that differ on the ranks make of variables that are 0."""
        rank = hvd.rank()
        number, unused, rows, vector = (
            keras.Variable(tf.zeros(shape)) for shape in ((), (), (3, 2), (2,))
        )
        sparse = tf.IndexedSlices(
            values=tf.constant([[1.0 + rank, 2.0]]), indices=[2 * rank], dense_shape=[3, 2]
        )
        optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD(-1.0), **options)
        optimizer.apply(
            [tf.constant(1.0 + rank), None, sparse, tf.constant([10.0 * rank, 4.0])],
            [number, unused, rows, vector],
        )
        return [variable.numpy().tolist() for variable in (number, unused, rows, vector)]

    @case
    def not_started():
        optimizer = hvd.DistributedOptimizer(keras.optimizers.SGD())
        return said_by(optimizer.apply, [tf.constant(1.0)], [keras.Variable(0.0)])

    hvd.init()

    @case
    def average():
        return values_after_a_step()

    @case
    def total():
        return values_after_a_step(op=hvd.Sum)

    @case
    def rows_alone():
        """A model all of whose gradients are sparse."""
        rows = keras.Variable(tf.zeros((2, 1)))
        gradient = tf.IndexedSlices(tf.constant([[4.0]]), [hvd.rank()], dense_shape=[2, 1])
        hvd.DistributedOptimizer(keras.optimizers.SGD(-1.0)).apply([gradient], [rows])
        return rows.numpy().tolist()

    @case
    def precision():
        """1 + 2**-12 has one digit too many for 16 bits."""
        values = []
        for compression in (hvd.Compression.none, hvd.Compression.fp16):
            variable = keras.Variable(0.0)
            optimizer = keras.optimizers.SGD(-1.0)
            hvd.DistributedOptimizer(optimizer, compression=compression)
            optimizer.apply([tf.constant(1.0 + 2.0**-12)], [variable])
            values.append(float(variable.numpy()))
        return values

    @case
    def state():
        """An optimizer that has trained before keeps its steps and its momentum."""
        variable = keras.Variable(0.0)
        optimizer = keras.optimizers.SGD(-1.0, momentum=0.5)
        optimizer.apply([tf.constant(8.0)], [variable])
        averaging = hvd.DistributedOptimizer(optimizer)
        averaging.apply([tf.constant(2.0 * hvd.rank())])
        return {
            "is_same_object": averaging is optimizer,
            "steps": int(averaging.iterations.numpy()),
            "value": float(variable.numpy()),
        }

    @case
    def saved():
        """What a saved model says about its optimizer, and what is loaded from it."""
        optimizer = keras.optimizers.Adam(0.25, clipnorm=0.5)
        said = keras.saving.serialize_keras_object(hvd.DistributedOptimizer(optimizer))
        loaded = keras.saving.deserialize_keras_object(said)
        return {
            "names": [said["module"], said["class_name"]],
            "is_stock": type(loaded) is keras.optimizers.Adam,
            "rate": float(loaded.learning_rate.numpy()),
            "clipnorm": loaded.clipnorm,
        }

    @case
    def refused():
        averaging = hvd.DistributedOptimizer(keras.optimizers.Adam())
        around = keras.optimizers.LossScaleOptimizer(
            hvd.DistributedOptimizer(keras.optimizers.Adam())
        )
        inside = hvd.DistributedOptimizer(
            keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
        )
        fine = {"jit_compile": False}
        return {
            "twice": said_by(hvd.DistributedOptimizer, averaging),
            "a_name": said_by(hvd.DistributedOptimizer, "adam"),
            "stock": said_by(hvd.check_optimizer, make_model(keras.optimizers.Adam(), **fine)),
            "scale_around": said_by(hvd.check_optimizer, make_model(around, **fine)),
            "scale_inside": said_by(hvd.check_optimizer, make_model(inside, **fine)),
            "averaging": said_by(hvd.check_optimizer, make_model(averaging, **fine)),
            "for_xla": said_by(
                hvd.check_optimizer,
                make_model(hvd.DistributedOptimizer(keras.optimizers.Adam()), jit_compile=True),
            ),
        }

    return found


def main() -> None:
    """Run all cases on two ranks, then print what each rank found."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    ranks = run(do_all_cases, results="all")
    for name in ranks[0]:
        value = [found[name] for found in ranks]
        print(f"\nOUTCOME {json.dumps({'case': name, 'value': value})}", flush=True)


if __name__ == "__main__":
    main()
