"""The media process: `python -m greenroom.files.media`, started by the worker."""

# Everything is loaded here, before the first fork: a job cannot import anything.
import encodings.ascii
import encodings.latin_1
import encodings.utf_16_be
import encodings.utf_16_le  # noqa: F401 (used by name)

from greenroom.files.media.classifier import load_classifier
from greenroom.files.media.ffmpeg import Ffmpeg, open_ffmpeg
from greenroom.files.media.pipeline import Pipeline, Tools
from greenroom.files.media.scanning import compile_rules
from greenroom.files.media.supervisor import Supervisor, orders_of_parent
from greenroom.files.media.wire import Answer, Hello, Order


def main() -> None:
    orders = orders_of_parent()
    programs = open_ffmpeg()
    ffmpeg = Ffmpeg(programs[0]) if programs else None
    tools = Tools(compile_rules(), load_classifier(), ffmpeg)

    def handle(order: Order, upload: int) -> Answer:
        return Pipeline(order, tools).run(upload)

    hello = Hello(has_classifier=tools.classifier is not None, has_ffmpeg=ffmpeg is not None)
    Supervisor(orders, handle, programs).run(hello)


main()
