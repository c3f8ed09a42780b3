"""The program of one TensorBoard, and what makes it private to its user.

It is run by the path of this folder with the Python of the TensorBoard environment, which may lack
our package, so its modules import each other relatively, the standard library and tensorboard.
"""
