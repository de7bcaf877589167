"""A notebook open in JupyterLab, as a test handles it."""
import re
from pathlib import Path

import nbformat

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


class LabNotebook:
    """Puts the notebook into the lab's folder and opens it."""

    def __init__(self, page, url: str, folder: Path, notebook):
        self.page, self.url, self.cells = page, url, notebook.cells
        nbformat.write(notebook, folder / "lesson.ipynb")
        self.open()

    def open(self):
        self.page.goto(f"{self.url}/lab/tree/lesson.ipynb")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        self.wait_idle()

    def wait_idle(self):
        self.page.get_by_text(re.compile(r"\| Idle$")).wait_for()   # a cell run while connecting asks for a kernel instead

    def run_to(self, last: int):
        """Runs the code cells up to this one, by Shift+Enter."""
        for index, cell in enumerate(self.cells[: last + 1]):
            if cell.cell_type == "code":
                self.run_cell(index)

    def run_cell(self, index: int):
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(index)
        cell.locator(".jp-InputPrompt").evaluate("prompt => prompt.textContent = ''")   # a built notebook has its numbers
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        cell.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")).wait_for()

    def output_of(self, index: int):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-OutputArea")
