"""What all tests share: English unless a test asks for Russian, no cache of the user's, the same examples at every run."""
from importlib.util import find_spec

import pytest
from hypothesis import settings

# Examples drawn with a fixed seed, so that a run repeats; no deadline, since the machine may be busy with other work.
settings.register_profile("course", derandomize=True, deadline=None, database=None)
settings.load_profile("course")

# Those run in verl's own environment: `make test` does both.
collect_ignore = [] if find_spec("verl") else ["with_verl"]


@pytest.fixture(scope="session", autouse=True)
def surroundings(tmp_path_factory):
    """English, and a cache of base models that goes away with the tests: subprocesses see both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_LANG", "en")
        patch.setenv("GRPO_COURSE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def bench():
    """The homework in this process. The sampler that its driver replaces is put back afterwards."""
    from solved import Bench

    from lib.toy import policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "sample", policy.sample)
        yield Bench()


@pytest.fixture
def in_russian(monkeypatch):
    monkeypatch.setenv("COURSE_LANG", "ru")


@pytest.fixture(params=["en", "ru"])
def each_language(request, monkeypatch):
    """The test runs once in each language; the value is the language."""
    monkeypatch.setenv("COURSE_LANG", request.param)
    return request.param
