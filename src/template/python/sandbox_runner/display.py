"""Results beside the text: shown figures and pictures, and the value of a last expression.

Each becomes one frame on the claim channel, a JSON object that maps MIME types to strings (base64 for pictures).

- ``plt.show()`` and ``figure.show()`` give the figure as a PNG picture. It stays open and as it is: saving it
  afterwards works. A figure that has not changed since it was shown is not given again.
- Figures that are open in pyplot at the end of the snippet, and were neither shown nor saved to a file, are given too,
  as a notebook would do.
- In a session a figure stays open from call to call. It is given again when it has been changed, when it is the value
  of a last expression, and when it is shown again: by ``figure.show()``, or as the current figure by ``plt.show()``.
  Only the figures used last stay in pyplot, or a long session would fill the memory with them; others remain what their
  variables hold.
- ``image.show()`` of Pillow gives the picture.
- The value of a last expression gives what its ``_repr_html_`` and so on offer, and its ``repr`` as text/plain, cut
  when long. A semicolon after it gives nothing, as in a notebook.

Nothing here prints, and nothing here raises into the snippet; its signal handlers wait until a figure is shown.
"""

from .guard import BUILTINS as __builtins__  # noqa: F401

import sys
import weakref
from binascii import b2a_base64
from io import BytesIO
from zlib import crc32

import _json

from . import cells, frames, last_value, represent
from .guard import MODULES, no_warnings, signals_held, time_limit

_VALUE_SECONDS = 2.0  # for making the value's text; the program itself is over by then
_FIGURES_SECONDS = 5.0
_FIGURES_KEPT = 10  # open in pyplot from one call to the next; it warns of more than 20
_PICTURE_BYTES_MAX = frames.RESULT_FRAME_BYTES // 4 * 3 - (256 << 10)  # before base64; room for the text beside it

_quote = _json.encode_basestring
_caller = sys._getframe


class _Sink:
    """Where results go, and how much more may."""

    def __init__(self, channel):
        self.channel = channel
        self._cell = cells.now()
        self.results_left = frames.RESULTS_MAX
        self.bytes_left = frames.RESULTS_BYTES_MAX

    def _is_over(self) -> bool:
        """In a session: the call that this belongs to is past, or a thread of an earlier one would send."""
        return cells.now() != self._cell or cells.is_late()

    def send(self, bundle: dict) -> bool:
        """Sends what fits of a MIME map, the largest forms left out first. True if anything was sent."""
        if self.results_left <= 0:
            return False
        parts = {mime: _member(mime, data) for mime, data in bundle.items()}
        room = min(frames.RESULT_FRAME_BYTES, self.bytes_left) - 2
        while parts and sum(map(len, parts.values())) + len(parts) > room:
            del parts[max(parts, key=lambda mime: len(parts[mime]))]
        if not parts:
            return False
        payload = b"{" + b",".join(parts.values()) + b"}"
        if not self.channel.send(frames.RESULT, payload, unless=self._is_over):
            return False
        self.results_left -= 1
        self.bytes_left -= len(payload)
        return True


_sink = None


def begin(channel) -> None:
    """A run begins, or a call of a session."""
    global _sink
    _sink = _Sink(channel)
    _figures.begin()


def _active() -> bool:
    return _sink is not None and _sink.results_left > 0 and _sink.channel.is_ours() and not cells.is_late()


def _member(mime: str, data) -> bytes:
    """One `"type/subtype": "text"` of the JSON object. Surrogates, which no UTF-8 has, become question marks."""
    if isinstance(data, (bytes, bytearray)):
        data = b2a_base64(data, newline=False).decode("ascii")
    quoted = f"{_quote(str(mime))}:{_quote(str(data))}"
    return quoted.encode("utf-8", "replace")


def show_what_is_left(value, source: bytes) -> None:
    """At the end of a run whose code returned ``value``."""
    try:
        value = last_value.to_show(value, source)
        if value is not None:
            show_value(value)
        open_figures()
    except BaseException:
        pass


# --- the value of a last expression ---


def show_value(value) -> None:
    if not _active():
        return
    if _is_figure(value) and _has_content(value):
        if not _figures.is_shown(value):
            with time_limit(_FIGURES_SECONDS):
                _figures.show(value, again=True)
        return
    bundle = {}
    try:
        with time_limit(_VALUE_SECONDS), no_warnings():
            bundle["text/plain"] = f"<{type(value).__name__} whose repr took too long>"
            bundle["text/plain"] = represent.text(value)
            bundle.update(_bounded_text(represent.rich(value)))
    except BaseException:
        pass
    _sink.send(bundle)


def _bounded_text(bundle: dict) -> dict:
    text = bundle.get("text/plain")
    if isinstance(text, str) and len(text) > represent.TEXT_CHARS_MAX:
        del bundle["text/plain"]
    return bundle


# --- figures ---


class _Figures:
    """What has become of each figure: the checksum of the picture that was shown, and whether it was saved."""

    def __init__(self):
        self._shown = weakref.WeakKeyDictionary()
        self._saved = weakref.WeakSet()
        self.begin()
        self._rendering = False

    def begin(self) -> None:
        self._of_this_run = weakref.WeakSet()  # shown or saved in it
        self._shown_in_it = weakref.WeakSet()

    def is_shown(self, figure) -> bool:
        """In this run, that is."""
        return figure in self._shown_in_it

    def is_done(self, figure) -> bool:
        """It was seen in this run, or was seen before and has not been changed since (`stale`: matplotlib's word)."""
        if figure in self._of_this_run:
            return True
        return (figure in self._shown or figure in self._saved) and not figure.stale

    def saved(self, figure) -> None:
        if not self._rendering:
            self._saved.add(figure)
            self._of_this_run.add(figure)

    def show(self, figure, again: bool = False) -> None:
        """Sends its picture if that has changed since the last time; with ``again`` also if that was in another run."""
        if self._rendering:
            return
        first = figure not in self._shown_in_it
        if first and not again and self.is_done(figure):
            return
        self._rendering = True
        try:
            with no_warnings():
                picture = _picture(figure)
        finally:
            self._rendering = False
        checksum = crc32(picture)
        self._of_this_run.add(figure)
        self._shown_in_it.add(figure)
        if self._shown.get(figure) != checksum or (first and again):
            self._shown[figure] = checksum
            _sink.send({"image/png": picture, "text/plain": represent.text(figure, 1000)})


_figures = _Figures()
_print_figure = None  # matplotlib's own FigureCanvasBase.print_figure


def _picture(figure) -> bytes:
    """PNG as a notebook shows it; at a lower resolution if it is too large to be handed over."""
    dpi = figure.dpi
    for _ in range(4):
        buffer = BytesIO()
        _print_figure(figure.canvas, buffer, format="png", dpi=dpi, bbox_inches="tight")
        if buffer.tell() <= _PICTURE_BYTES_MAX:
            break
        dpi *= 0.8 * (_PICTURE_BYTES_MAX / buffer.tell()) ** 0.5
    return buffer.getvalue()


def _is_figure(value) -> bool:
    module = MODULES.get("matplotlib.figure")
    figure_type = getattr(module, "Figure", None)
    return isinstance(figure_type, type) and isinstance(value, figure_type) and _print_figure is not None


def open_figures() -> None:
    """The figures that are open in pyplot and would be lost without having been seen."""
    helpers = MODULES.get("matplotlib._pylab_helpers")
    if helpers is None or not _active():
        return
    managers = helpers.Gcf.get_all_fig_managers()
    if not managers:
        return
    with time_limit(_FIGURES_SECONDS):
        for manager in managers:
            figure = manager.canvas.figure
            if not _figures.is_done(figure) and _has_content(figure):
                try:
                    _figures.show(figure)
                except Exception:
                    pass
    if cells.now() is not None:
        _settle_figures(helpers.Gcf)


def _settle_figures(gcf) -> None:
    """At the end of a call: what is changed from here on is changed by the next; old figures leave pyplot."""
    for number in list(gcf.figs)[:-_FIGURES_KEPT]:
        gcf.destroy(number)
    for manager in gcf.get_all_fig_managers():
        manager.canvas.figure.stale = False


def _has_content(figure) -> bool:
    """An empty figure is what ``plt.figure()`` or ``plt.close`` by a wrong number leaves behind."""
    return any(artist is not figure.patch for artist in figure.get_children())


class _Seen:
    """Stands in for a method and tells when it is about to be called, without a frame of its own in the call.

    A wrapper function would be seen: in tracebacks, and by matplotlib when it looks for the user's line to warn about.
    """

    def __init__(self, function, tell):
        self._function = function
        self._tell = tell
        self.__doc__ = function.__doc__

    def __get__(self, instance, owner=None):
        if instance is not None:
            try:
                self._tell(instance)
            except Exception:
                pass
        return self._function.__get__(instance, owner)


def hook_matplotlib() -> None:
    global _print_figure
    from matplotlib import backend_bases
    from matplotlib._pylab_helpers import Gcf
    from matplotlib.figure import Figure

    figure_show = Figure.show.__code__
    _print_figure = backend_bases.FigureCanvasBase.print_figure
    backend_bases.FigureCanvasBase.print_figure = _Seen(_print_figure, lambda canvas: _figures.saved(canvas.figure))

    def show(self):
        """Hand the figure over as a result of this run."""
        if not _active():
            return
        asked_by_figure = _caller(1).f_code is figure_show
        with signals_held():
            try:
                _figures.show(self.canvas.figure, again=asked_by_figure or Gcf.get_active() is self)
            except Exception:
                pass

    original = backend_bases.FigureManagerBase.show
    show.__module__, show.__qualname__ = original.__module__, original.__qualname__
    backend_bases.FigureManagerBase.show = show


def hook_pillow() -> None:
    from PIL import ImageShow

    class SandboxViewer(ImageShow.Viewer):
        def show(self, image, **options):
            if _active():
                with signals_held():
                    try:
                        _sink.send({"image/png": _png_of_image(image), "text/plain": represent.text(image, 1000)})
                    except Exception:
                        pass
            return 1

    ImageShow._viewers.insert(0, SandboxViewer())


def _png_of_image(image) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGBA" if image.mode in ("La", "RGBa", "PA") else "RGB")
    while True:
        buffer = BytesIO()
        image.save(buffer, format="PNG")
        if buffer.tell() <= _PICTURE_BYTES_MAX or min(image.size) < 64:
            return buffer.getvalue()
        image = image.resize((image.width // 2, image.height // 2))
