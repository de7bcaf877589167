"""What the course's widgets have in common: how a cell shows them."""
from html import escape

import ipywidgets
from IPython.display import display


class Widget:
    """Shows its `box` as a cell's last value, or with `.show()`."""

    box: ipywidgets.Box

    def hint(self) -> str:
        """What a reader without a kernel sees in place of the widgets."""
        raise NotImplementedError

    def show(self) -> None:
        display(self.box)

    def _repr_mimebundle_(self, **kwargs):
        return self.box._repr_mimebundle_(**kwargs) | {"text/html": f"<p><b>▶ {escape(self.hint())}</b></p>"}
