"""The block of docs/files.md works as it is printed."""

from pathlib import Path

from tests.support.pages import page_environment, run_block


def test_the_block_shows_a_picture_to_the_other_side(tmp_path: Path, database_url: str) -> None:
    with page_environment(tmp_path, database_url) as environment:
        shown = run_block("docs/files.md", environment)
    assert '"hint"' not in shown, shown
    lines = shown.splitlines()
    assert "204" in lines
    assert any('"state":"ready"' in line for line in lines), shown
    assert lines[-1].startswith("200 image/"), lines[-1]
