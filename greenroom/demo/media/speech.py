"""A voice note: sounds with the rhythm and melody of speech, but without words."""

import io
import wave

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
VOWELS = ((730, 1090), (530, 1840), (390, 1990), (570, 840), (440, 1020))
"""The two lowest resonances of the mouth in a, e, i, o, u, in Hz."""

Samples = NDArray[np.float64]


def speak(name: str, *, seconds: int) -> bytes:
    """A WAV file, mono, 16 bits."""
    dice = np.random.default_rng(list(name.encode()))
    parts: list[Samples] = []
    length, pitch_hz = 0, 128.0
    while length < seconds * RATE:
        if parts and dice.random() < 0.2:
            part, pitch_hz = np.zeros(int(RATE * dice.uniform(0.12, 0.4))), 134.0
        else:
            part = _syllable(dice, pitch_hz)
            # The voice falls towards the end of a phrase.
            pitch_hz = max(92.0, pitch_hz * dice.uniform(0.94, 1.01))
        parts.append(part)
        length += len(part)
    sound = np.concatenate(parts)[: seconds * RATE]
    sound = sound / np.abs(sound).max() * 0.6
    return _wav((sound * 32767).astype("<i2").tobytes())


def _syllable(dice: np.random.Generator, pitch_hz: float) -> Samples:
    """A breath of noise as consonant, then a vowel: harmonics, louder near its resonances."""
    length = int(RATE * dice.uniform(0.11, 0.24))
    at_s = np.arange(length) / RATE
    vowel = VOWELS[dice.integers(len(VOWELS))]
    turns = np.cumsum(np.full(length, pitch_hz) * (1 + 0.03 * np.sin(at_s * 31))) / RATE
    sound = np.zeros(length)
    for harmonic in range(1, 22):
        tone_hz = harmonic * pitch_hz
        loud = sum(1 / (1 + ((tone_hz - peak_hz) / 110) ** 2) for peak_hz in vowel)
        sound += (0.03 + loud) * np.sin(2 * np.pi * harmonic * turns) / harmonic**0.4
    sound *= np.sin(np.pi * np.linspace(0.03, 1, length)) ** 0.6
    onset = int(RATE * 0.03)
    sound[:onset] += dice.standard_normal(onset) * np.linspace(0.8, 0, onset)
    return sound


def _wav(frames: bytes) -> bytes:
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(frames)
    return written.getvalue()
