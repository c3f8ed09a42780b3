"""Run in a kernel: prints what each variable of the notebook is, so that two kernels compare.

It is a cell, with all its names in one function.
"""
# ruff: noqa
# mypy: ignore-errors


def _look():
    import hashlib, json, re, sys, types

    numpy, torch, keras = (sys.modules.get(name) for name in ("numpy", "torch", "keras"))
    pandas, tf = sys.modules.get("pandas"), sys.modules.get("tensorflow")
    address = re.compile(r"0x[0-9a-f]+|/tmp/ipykernel_\d+/\d+\.py| at \S+")

    def brief(data):
        return hashlib.sha256(data).hexdigest()[:16]

    def what(value, depth=0):
        kind = type(value).__qualname__
        if depth > 6:
            return kind
        if numpy and isinstance(value, numpy.ndarray) and value.dtype != object:
            return [kind, str(value.dtype), value.shape, brief(numpy.ascontiguousarray(value))]
        if torch and isinstance(value, torch.Tensor):
            bare = value.detach()
            data = (
                brief(bare.cpu().contiguous().view(-1).view(torch.uint8).numpy())
                if bare.layout == torch.strided and bare.numel()
                else str(bare)
            )
            return [
                kind,
                str(value.dtype),
                list(value.shape),
                value.requires_grad,
                str(value.device),
                data,
            ]
        if (
            torch
            and isinstance(value, torch.nn.Module)
            and not (keras and isinstance(value, keras.Layer))
        ):
            return [kind, value.training, what(dict(value.state_dict()), depth + 1)]
        if torch and isinstance(value, torch.optim.Optimizer):
            return [kind, what(value.state_dict(), depth + 1)]
        if keras and isinstance(value, (keras.Model, keras.Layer)):
            optimizer = getattr(value, "optimizer", None)
            return [
                kind,
                [what(numpy.asarray(w)) for w in value.get_weights()],
                optimizer and what(optimizer),
            ]
        if keras and isinstance(value, keras.optimizers.Optimizer):
            return [kind, [what(keras.ops.convert_to_numpy(v)) for v in value.variables]]
        if tf and isinstance(value, (tf.Tensor, tf.Variable)):
            return [kind, what(value.numpy())]
        if pandas and isinstance(value, (pandas.DataFrame, pandas.Series, pandas.Index)):
            return [
                kind,
                value.shape,
                brief(pandas.util.hash_pandas_object(value).values.tobytes()),
                str(getattr(value, "dtypes", "")),
            ]
        if keras and isinstance(value, keras.KerasTensor):
            # Keras numbers their names anew.
            return [kind, list(value.shape), value.dtype]
        figure = value if kind == "Figure" else getattr(value, "figure", None)
        if "matplotlib" in sys.modules and hasattr(figure, "canvas"):
            figure.canvas.draw()
            return [kind, brief(numpy.asarray(figure.canvas.buffer_rgba()).tobytes())]
        if isinstance(value, types.FunctionType):
            return [
                kind,
                value.__name__,
                brief(value.__code__.co_code),
                str(value.__code__.co_names),
            ]
        if isinstance(value, type):
            return [kind, value.__name__, sorted(map(str, vars(value)))]
        if isinstance(value, dict):
            return [kind, [[str(key), what(one, depth + 1)] for key, one in value.items()]]
        if isinstance(value, (list, tuple)):
            return [kind, [what(one, depth + 1) for one in value[:200]], len(value)]
        if isinstance(value, (set, frozenset)):
            return [kind, sorted(map(str, value))]
        text = address.sub("", repr(value))[:4000]
        inner = getattr(value, "__dict__", None)
        if isinstance(inner, dict) and depth < 4:
            return [
                kind,
                text,
                [
                    [key, what(one, depth + 1)]
                    for key, one in sorted(inner.items())
                    if not key.startswith("_")
                ],
            ]
        return [kind, text]

    variables = sys.modules["dsportal_start.variables"]
    shell = get_ipython()
    found, first = {}, {}
    for name in sorted(variables.names_of(shell)):
        value = shell.user_ns[name]
        is_imported = isinstance(value, types.ModuleType) or (
            isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
            and value.__module__ != "__main__"
        )
        if is_imported or name == "_look":
            continue
        try:
            seen = brief(json.dumps(what(value), default=str).encode())
        except Exception as error:
            seen = type(error).__name__ + " " + str(error)[:80]
        same = (
            ""
            if isinstance(value, (int, float, str, bytes, bool, type(None), tuple))
            else first.setdefault(id(value), name)
        )
        found[name] = [type(value).__qualname__, seen, same]
    print("FOUND", json.dumps(found))


_look()
