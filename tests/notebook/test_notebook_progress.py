"""Progress in a notebook: one line that is overwritten, and none if nothing is to be run."""

from __future__ import annotations

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from hostsim.campaign.driver import Progress
from hostsim.views.notebook.progress import KIND, NotebookProgress, is_notebook


def test_a_sweep_has_one_line_that_is_written_over() -> None:
    """Another plan that was fully stored has none."""
    InteractiveShell.instance()
    with capture_output() as shown:
        show = NotebookProgress()
        for done in (0, 1, 2):
            show("<tiny>", Progress(done=done, total=2, reused=0, failed=0, running=0, seconds_left=None))
        show("kept", Progress(done=3, total=3, reused=3, failed=0, running=0, seconds_left=None))
    is_there = is_notebook()
    InteractiveShell.clear_instance()
    texts = [output.data["text/html"].partition("</progress> ")[2] for output in shown.outputs]
    assert texts == [f"&lt;tiny&gt;: {done} of 2 runs" for done in (0, 1, 2)]
    assert [KIND in output.data for output in shown.outputs] == [True] * 3
    assert [output.update for output in shown.outputs] == [False, True, True]
    assert not is_there
