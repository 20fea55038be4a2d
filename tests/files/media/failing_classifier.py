"""The media process with a classifier that fails. Started by tests."""

import pyvips

from greenroom.files.media.pipeline import Pipeline, Tools
from greenroom.files.media.scanning import compile_rules
from greenroom.files.media.supervisor import Supervisor, orders_of_parent
from greenroom.files.media.wire import Hello


class Failing:
    def score(self, image: pyvips.Image) -> float:
        raise RuntimeError("it broke" if image.width else "")


if __name__ == "__main__":
    tools = Tools(compile_rules(), Failing(), None)
    hello = Hello(has_classifier=True, has_ffmpeg=False)
    Supervisor(orders_of_parent(), lambda o, u: Pipeline(o, tools).run(u), set()).run(hello)
