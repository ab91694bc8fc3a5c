"""What the template imports, so that no snippet has to: the libraries of the image, and what snippets use of the
standard library.

Submodules that their package loads on demand are named. A module that cannot be imported is left out, and is merely
missing or slower later, as in any Python; only a library that the image promises stops the template.
tests/unit/python/test_imports.py sees to it that the lists stay true.
"""

import importlib

STANDARD = """
    abc argparse array ast asyncio atexit base64 bisect builtins bz2 calendar cmath code codecs collections
    collections.abc colorsys concurrent.futures concurrent.futures.process concurrent.futures.thread configparser
    contextlib contextvars copy copyreg csv ctypes ctypes.util dataclasses datetime decimal difflib dis email
    email.message email.mime.text enum errno faulthandler fcntl filecmp fileinput fnmatch fractions functools gc getpass
    gettext glob graphlib gzip hashlib heapq hmac html html.parser http http.client importlib importlib.metadata
    importlib.resources inspect io ipaddress itertools json keyword linecache locale logging logging.config
    logging.handlers lzma marshal math mimetypes mmap multiprocessing multiprocessing.connection multiprocessing.context
    multiprocessing.dummy multiprocessing.forkserver multiprocessing.managers multiprocessing.pool
    multiprocessing.popen_fork multiprocessing.popen_forkserver multiprocessing.popen_spawn_posix
    multiprocessing.process multiprocessing.queues multiprocessing.reduction multiprocessing.resource_tracker
    multiprocessing.shared_memory multiprocessing.sharedctypes multiprocessing.spawn multiprocessing.synchronize
    multiprocessing.util numbers opcode operator os os.path pathlib pdb pickle pickletools pkgutil platform plistlib
    posixpath pprint pydoc queue quopri random re reprlib resource runpy sched secrets select selectors shelve shlex
    shutil signal socket sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig tarfile
    tempfile termios textwrap threading time timeit token tokenize trace traceback tracemalloc types typing unicodedata
    unittest unittest.mock urllib urllib.error urllib.parse urllib.request uuid warnings weakref xml xml.dom
    xml.dom.minidom xml.etree xml.etree.ElementTree zipfile zlib zoneinfo
""".split()

PROMISED = "numpy pandas matplotlib scipy sklearn sympy openpyxl PIL".split()

LIBRARIES = """
    numpy numpy.fft numpy.linalg numpy.ma numpy.polynomial numpy.random pandas pandas.plotting pandas.io.clipboards
    pandas.io.excel pandas.io.html pandas.io.json matplotlib matplotlib.animation matplotlib.backends.backend_agg
    matplotlib.backends.backend_pdf matplotlib.backends.backend_svg matplotlib.collections matplotlib.colors
    matplotlib.dates matplotlib.gridspec matplotlib.image matplotlib.lines matplotlib.patches matplotlib.pyplot
    matplotlib.ticker mpl_toolkits.mplot3d mpl_toolkits.axes_grid1 scipy scipy.cluster.hierarchy scipy.constants
    scipy.fft scipy.integrate scipy.interpolate scipy.io scipy.linalg scipy.ndimage scipy.optimize scipy.signal
    scipy.sparse scipy.sparse.csgraph scipy.sparse.linalg scipy.spatial scipy.special scipy.stats sklearn
    sklearn.cluster sklearn.compose sklearn.datasets sklearn.decomposition sklearn.ensemble
    sklearn.feature_extraction.text sklearn.feature_selection sklearn.impute sklearn.inspection sklearn.linear_model
    sklearn.manifold sklearn.metrics sklearn.mixture sklearn.model_selection sklearn.naive_bayes sklearn.neighbors
    sklearn.neural_network sklearn.pipeline sklearn.preprocessing sklearn.svm sklearn.tree sympy
    sympy.parsing.sympy_parser sympy.stats openpyxl openpyxl.chart openpyxl.styles openpyxl.utils PIL PIL.Image
    PIL.ImageChops PIL.ImageColor PIL.ImageDraw PIL.ImageEnhance PIL.ImageFilter PIL.ImageFont PIL.ImageOps
    PIL.ImageShow PIL.PngImagePlugin PIL.JpegImagePlugin joblib joblib.externals.loky.backend.popen_loky_posix
    cloudpickle dateutil dateutil.parser mpmath pandas.plotting._matplotlib pandas.io.formats.excel
    pandas.io.formats.format pandas.io.formats.html pandas.io.formats.string pandas.io.parsers pandas.io.sql
    openpyxl.cell._writer matplotlib.backends.backend_ps PIL.GifImagePlugin PIL.BmpImagePlugin PIL.PpmImagePlugin
""".split()


def import_everything() -> None:
    for name in PROMISED:
        importlib.import_module(name)
    for name in STANDARD + LIBRARIES:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
