"""Operators that make elements by a formula."""
import numpy as np

from random_cases import CannotBeSaid, Drawn, draws, ints, is_float


@draws("ConstantOfShape")
def constant_of_shape(r):
    value = None
    if r.chance(0.7):
        value = r.values(r.pick(r.allowed(r.schema.outputs[0].type_str)), [1])
    return Drawn([ints(r.shape(0, 4))], {}, {"value": value})


@draws("Range")
def range_of(r):
    dtype = r.dtype()
    r.is_special = False
    step = r.pick([0.1, 0.3, 1 / 3, 1, 2, -1, -0.7]) if is_float(dtype) else r.pick([1, 2, 3, -1, -2])
    start, length = r.int(-5, 5), r.int(0, 40)
    limit = start + step * length + (r.pick([0, 0.05]) if is_float(dtype) else 0)
    if not is_float(dtype) and min(limit, start, step) < np.iinfo(dtype).min:
        raise CannotBeSaid
    return Drawn([np.array(v).astype(dtype) for v in (start, limit, step)])


@draws("Resize")
def resize(r):
    version = r.schema.since_version
    if version < 11:
        raise CannotBeSaid
    dtype = r.dtype()
    mode = r.pick(["nearest", "nearest", "linear", "linear", "cubic"])
    transformations = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                       "tf_crop_and_resize"]
    transformations += ["half_pixel_symmetric"] if version >= 19 else []
    transformations += ["tf_half_pixel_for_nn"] if version < 13 else []
    transformation = r.pick(transformations)
    r.is_special = False
    spatial = r.int(1, 2)
    shape = [r.int(1, 2), r.int(1, 2)] + [r.int(1, 6) for _ in range(spatial)]
    sizes = shape[:2] + [r.int(1, 9) for _ in range(spatial)]
    attributes = {"mode": mode, "coordinate_transformation_mode": transformation,
                  "nearest_mode": r.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
                  if mode == "nearest" else None}
    if version >= 18 and mode != "nearest":
        attributes["antialias"] = r.pick([None, None, 1])
    attributes["exclude_outside"] = 1 if mode == "cubic" and r.chance(0.3) else None
    parameters = {"roi": np.zeros([0], np.float32)}
    if transformation == "tf_crop_and_resize":
        rank = len(shape)
        starts = [0.0] * 2 + [r.pick([0, 0.1, 0.4, -0.2]) for _ in range(spatial)]
        ends = [1.0] * 2 + [r.pick([1, 0.9, 0.6, 1.3]) for _ in range(spatial)]
        parameters["roi"] = np.array(starts + ends, np.float32).reshape(2 * rank)
        attributes["extrapolation_value"] = r.pick([None, 10.0])
    if r.chance(0.5):
        parameters["scales"] = np.array(
            [1, 1] + [r.pick([0.5, 0.6, 0.8, 1, 1.5, 2, 2.3, 3, o / i]) for o, i in zip(sizes[2:], shape[2:])],
            np.float32)
    else:
        parameters["scales"] = np.zeros([0], np.float32)
        parameters["sizes"] = ints(sizes)
        if version >= 13:
            parameters["scales"] = None
        if version >= 18 and r.chance(0.2):
            attributes["keep_aspect_ratio_policy"] = r.pick(["not_larger", "not_smaller", "stretch"])
            parameters["sizes"] = ints(sizes[2:])
            attributes["axes"] = list(range(2, len(shape)))
            if transformation == "tf_crop_and_resize":
                raise CannotBeSaid
    return Drawn([r.values(dtype, shape)], parameters, attributes)
