"""The tests. An assertion that fails in `tests.support` shows its values as one in a test does."""

import pytest

pytest.register_assert_rewrite("tests.support")
