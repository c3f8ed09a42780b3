"""The network of the lessons, for a program that only measures how fast it trains."""

from __future__ import annotations

from quiet import quiet_libraries

with quiet_libraries():
    import keras
    from keras import layers


def make_model() -> keras.Model:
    """Return a small convolutional network with fresh weights, not compiled.

    Returns:
        Model from float32 (n, 28, 28, 1), values 0 to 1, to the probabilities of the ten digits.
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.4),
            layers.Dense(10, activation="softmax"),
        ]
    )
