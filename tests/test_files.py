"""Nothing is overwritten: the name of a new file is free at the moment of its opening, whoever else is looking."""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lib.files import open_new


def test_the_first_free_name_is_taken_and_nothing_else_is_touched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = {"log.jsonl": "dear", "log-1.jsonl": "dearer", "log-3.jsonl": "dearest"}
    for name, text in taken.items():
        Path(name).write_text(text)
    made = []
    for _ in range(3):
        with open_new("log.jsonl") as file:
            file.write(file.name)
            made.append(file.name)
    assert made == ["log-2.jsonl", "log-4.jsonl", "log-5.jsonl"]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == taken | {name: name for name in made}


def test_a_folder_and_a_link_to_nowhere_take_names_too(tmp_path):
    (tmp_path / "run.v2.csv").mkdir()
    (tmp_path / "run.v2-1.csv").symlink_to(tmp_path / "nowhere")
    with open_new(tmp_path / "run.v2.csv") as file:
        assert file.name == str(tmp_path / "run.v2-2.csv")
    assert not (tmp_path / "nowhere").exists()


def test_a_name_without_an_ending(tmp_path):
    names = []
    for _ in range(3):
        with open_new(tmp_path / "log") as file:
            names.append(Path(file.name).name)
    assert names == ["log", "log-1", "log-2"]


def test_a_file_that_appears_after_a_look_is_left_alone(tmp_path, monkeypatch):
    """What a race comes to: whoever asks first whether the name is free is told that it is."""
    monkeypatch.setattr("os.path.exists", lambda path: False)
    monkeypatch.setattr(Path, "exists", lambda path, **kwargs: False)
    (tmp_path / "log").write_text("dear")
    with open_new(tmp_path / "log") as file:
        assert file.name == str(tmp_path / "log-1")
    assert (tmp_path / "log").read_text() == "dear"


def test_many_at_once_get_a_file_each(tmp_path):
    def write(number: int) -> None:
        with open_new(tmp_path / "log") as file:
            file.write(f"{number}\n")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert sorted(written) == sorted(f"{number}\n" for number in range(40))


def test_text_is_utf_8_with_the_line_ends_that_were_asked_for(tmp_path):
    with open_new(tmp_path / "a.csv", newline="") as file:
        file.write("награда\r\n")
    with open_new(tmp_path / "a.csv", newline="\r\n") as file:
        file.write("награда\n")
    assert [(tmp_path / name).read_bytes() for name in ("a.csv", "a-1.csv")] == ["награда\r\n".encode()] * 2


def test_bytes_are_written_as_they_are(tmp_path):
    with open_new(tmp_path / "a.png", "xb") as file:
        file.write(b"\x89PNG\r\n\x00")
    assert (tmp_path / "a.png").read_bytes() == b"\x89PNG\r\n\x00"


@pytest.mark.parametrize("mode", ["x", "xb"])
def test_a_folder_that_is_not_there_is_an_error_and_no_endless_search(tmp_path, mode):
    with pytest.raises(FileNotFoundError):
        open_new(tmp_path / "gone" / "log", mode)
