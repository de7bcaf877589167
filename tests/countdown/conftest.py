"""Texts that a model might write, for the tests of lib.countdown."""
import pytest
from hypothesis import strategies as st

TAGS = ["<think>", "</think>", "<answer>", "</answer>", "<", ">", "/", "answer>", "</think", "<ANSWER>", "< answer >"]
ARITHMETIC = ["3", "7", "10", "03", "0", "+", "-", "*", "/", "(", ")", "**", "//", " ", "\n"]
OTHERS = ["=31", "1.5", "1e1", "1_0", "3*7+10", "\t", "\v", "\f", "\r", "\x1c", "\x85", "\xa0", "\u2028", "\u200b", "\ufeff",
          "\x00", "\ud800", "×", "−", "３", "٣", "③", "½", "\U0001f914", "\\boxed{", "}", "__import__('os')", "{0}", "%s",
          "x" * 100]
EXPRESSIONS = ["3*7+10", " 10 +\t(3*7)", "7", "3*7-10", "(3-10)*7", "10/(7-7)+3", "3/0", "3*7--10", "(3*7+10"]


@pytest.fixture(scope="session")
def texts() -> st.SearchStrategy[str]:
    """Any text at all, half characters too, with whole and broken tags and arithmetic in it; often nearly of the form."""
    anything = st.text(st.characters(exclude_categories=()), max_size=20)     # the default leaves out half characters
    free = st.lists(st.sampled_from(TAGS + ARITHMETIC + OTHERS) | anything, max_size=14).map("".join)
    exprs = st.sampled_from(EXPRESSIONS) | st.lists(st.sampled_from(ARITHMETIC), max_size=9).map("".join) | free
    formed = st.tuples(free, exprs).map(lambda blocks: "<think>{}</think><answer>{}</answer>".format(*blocks))
    edge = st.sampled_from(["", "", " \n", "\xa0", "x", "</think>", "<answer>", "<answer>7</answer>"])
    return free | formed | st.tuples(edge, formed, edge).map("".join)


@pytest.fixture(scope="session")
def numbers() -> st.SearchStrategy[list[int]]:
    """What a data set gives, and often just what the texts above hold."""
    return st.sampled_from([[3, 7, 10], [3, 7], [7], [0, 3], []]) | st.lists(st.integers(-3, 100), max_size=5)
