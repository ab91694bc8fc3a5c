"""What goes into the image and what is left out: lists only. Each entry that is not obvious says why it is there."""

# The eight libraries that the image promises; image/requirements.in lists the same names for pip.
LIBRARIES = ("numpy", "pandas", "matplotlib", "scipy", "scikit-learn", "sympy", "openpyxl", "pillow")

PYTHON_WANTED = (3, 12)
# Versions that image/requirements.lock holds wheels for; another one than PYTHON_WANTED is taken only as a last resort.
PYTHON_LOCKED = ((3, 12), (3, 13))

# Where things lie inside the image.
PREFIX = "usr/local"
FONT_LIST = "usr/local/share/matplotlib"
MOUNT_POINTS = ("proc", "dev", "tmp", "mnt/data", "home/nonroot", "opt/sandbox")

# Programs, by the Debian package that brings them. Nothing here opens a network connection, changes the user, mounts, or
# installs packages; each is copied by name, so that an update of a package brings in nothing new.
TOOLS = {
    "dash": ["dash"],  # also as "sh"
    "coreutils": """
        [ arch b2sum base32 base64 basename basenc cat chmod cksum comm cp csplit cut date dd df dir dirname du echo env
        expand expr factor false fmt fold groups head id join link ln ls md5sum mkdir mkfifo mktemp mv nice nl nohup
        nproc numfmt od paste pr printenv printf pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum
        sha512sum shred shuf sleep sort split stat stdbuf stty sum sync tac tail tee test timeout touch tr true truncate
        tsort tty uname unexpand uniq unlink vdir wc whoami yes
    """.split(),
    "grep": ["grep", "egrep", "fgrep"],
    "sed": ["sed"],
    "mawk": ["mawk"],  # also as "awk"
    "findutils": ["find", "xargs"],
    "diffutils": ["cmp", "diff"],
    "debianutils": ["which"],
    "tar": ["tar"],
    "gzip": ["gzip", "gunzip", "zcat"],
    "bzip2": ["bzip2", "bunzip2", "bzcat"],
    "xz-utils": ["xz", "unxz", "xzcat"],
}
TOOLS_OPTIONAL = ("bzip2", "xz-utils")  # taken if the machine has them
TOOL_LINKS = {"sh": "dash", "awk": "mawk"}

# Opened by name at run time, so no file lists them as needed.
LIBRARIES_BY_NAME = ("libgcc_s.so.1",)  # glibc loads it for pthread_cancel(3) and backtrace(3)

# Terminal descriptions for readline and curses; the rest of the database is of no use without a terminal.
TERMINALS = ("d/dumb", "x/xterm", "x/xterm-256color", "v/vt100", "l/linux", "a/ansi")

# One file with Chinese, Japanese and Korean, about 5 MB. Name as matplotlib and Pillow know it.
CJK_FONT = "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc"
CJK_FAMILY = "WenQuanYi Micro Hei"

# Parts of the standard library that have no use here: tests, graphical programs, and what installs packages.
STDLIB_DROP = (
    "site-packages", "dist-packages", "test", "idlelib", "ensurepip", "tkinter", "turtledemo", "turtle.py", "lib2to3",
    "__phello__", "__phello__.foo.py", "sitecustomize.py", "EXTERNALLY-MANAGED",
)
STDLIB_DROP_PREFIXES = ("config-",)  # static library and Makefile for embedding
EXTENSIONS_DROP = ("_tkinter", "_test", "_ctypes_test", "_xxtest", "xxlimited", "xxsubtype", "nis", "ossaudiodev", "spwd")

# Wheels: test suites are half of their size. What must stay although it looks like a test, because scipy's array API
# layer does `from numpy import *` and so imports it: numpy.f2py, numpy.testing, numpy._core.tests.
WHEELS_DROP_FOLDERS = ("tests", "test", "include", "__pycache__")
WHEELS_KEEP = ("numpy/_core/tests", "numpy/f2py", "numpy/testing")
WHEELS_DROP_SUFFIXES = (".pyi", ".pxd", ".pyx", ".h", ".hpp", ".a", ".lib", ".c", ".cpp", ".tp", ".in", ".build")
WHEELS_DROP_PATHS = ("bin", "share", "matplotlib/backends/web_backend")
