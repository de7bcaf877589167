"""The picture of difficulties."""
from lib.ui.difficulty import difficulties

EASY = [{"nums": [3, 5, 11], "target": 19}] * 3 + [{"nums": [3, 7, 10], "target": 31}]     # one solution each
MANY = [{"nums": [1, 1, 2, 2], "target": 4}]                                                # more than six


def test_bars_are_shares(each_language):
    figure = difficulties({"easy": EASY, "many": MANY})
    left, right = figure.axes
    heights = [[bar.get_height() for bar in group] for group in left.containers]
    assert heights == [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert [group[0].get_height() for group in right.containers[::1] if hasattr(group[0], "get_height")] == [0.75, 1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["easy", "many"]
