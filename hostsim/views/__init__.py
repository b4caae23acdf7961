"""Views of results: figures, reports, notebook representations, timelines."""
