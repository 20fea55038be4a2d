"""The media process on a machine without FFmpeg and without a classifier. Started by tests."""

from greenroom.files.media.pipeline import Pipeline, Tools
from greenroom.files.media.scanning import compile_rules
from greenroom.files.media.supervisor import Supervisor, orders_of_parent
from greenroom.files.media.wire import Hello

if __name__ == "__main__":
    tools = Tools(compile_rules(), None, None)
    hello = Hello(has_classifier=False, has_ffmpeg=False)
    Supervisor(orders_of_parent(), lambda o, u: Pipeline(o, tools).run(u), set()).run(hello)
