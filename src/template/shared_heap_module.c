/*
 * _shared_heap: prepares the template's heap to be shared with its children.
 *
 * An extension module of the image's own Python, used in the template only. A page of the template is shared by all
 * children until one of them writes to it; then the kernel copies it, which costs that child some microseconds and
 * 4 KiB. And every page that is shared costs the fork and the end of the child a little, unless it is part of a huge
 * page. Two things write to pages that nobody means to change, and are prevented here:
 *
 * - Reference counts. Using an object is a write to it. CPython 3.12 has immortal objects, whose count is never written
 *   (PEP 683, https://peps.python.org/pep-0683/); everything that the template has becomes one.
 * - Gaps. New memory would be taken from the free places between what is in use, each on another page. They are filled.
 *
 * And the memory of objects, which the interpreter would map in pieces here and there, is gathered in one place, where
 * it can be put on huge pages (sandbox_runner/compacting.py).
 *
 * docs/performance.md has the figures. What a program can see of it: sys.getrefcount() of the template's objects is a
 * large number, and they are never destroyed.
 *
 * Built against the stable ABI. Counts are set in the versions whose way of marking immortal objects is known; in
 * others the caller leaves that out.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- immortal objects ---- */

/* Include/object.h of 3.12 and 3.13, 64 bits: all ones in the lower half, whose sign bit tells; the upper half 0. */
#define IMMORTAL_COUNT ((Py_ssize_t)UINT32_MAX)

struct walk {
        PyObject **found; /* made immortal, but what they refer to is not yet */
        size_t count, room;
        size_t made;
        PyTypeObject *code_type;
        int out_of_memory;
};

static int is_immortal(const PyObject *object) {
        return (int32_t)object->ob_refcnt < 0;
}

static int make_immortal(PyObject *object, void *data) {
        struct walk *walk = data;
        if (!object || is_immortal(object))
                return 0;
        if (walk->count == walk->room) {
                size_t room = walk->room ? 2 * walk->room : 1 << 16;
                PyObject **bigger = reallocarray(walk->found, room, sizeof(PyObject *));
                if (!bigger) {
                        walk->out_of_memory = 1;
                        return -1;
                }
                walk->found = bigger;
                walk->room = room;
        }
        object->ob_refcnt = IMMORTAL_COUNT;
        walk->found[walk->count++] = object;
        walk->made++;
        return 0;
}

/*
 * Only for attributes that hand out an object which they keep. The reference that came with it is given back before
 * the object is made immortal: these macros may be those of an older version, which count immortal objects as well, and
 * a count that is off by one is written to when it is next used. For an object that is immortal already nothing was
 * counted.
 */
static void take_attributes(struct walk *walk, PyObject *object, const char *const *names) {
        for (; *names; names++) {
                PyObject *value = PyObject_GetAttrString(object, *names);
                if (!value) {
                        PyErr_Clear();
                        continue;
                }
                if (is_immortal(value))
                        continue;
                Py_DECREF(value);
                make_immortal(value, walk);
        }
}

/* ISO C has no conversion between pointers to objects and to functions; POSIX has them of one size. */
static traverseproc traversal_of(PyTypeObject *type) {
        void *slot = PyType_GetSlot(type, Py_tp_traverse);
        traverseproc traverse;
        memcpy(&traverse, &slot, sizeof(traverse));
        return traverse;
}

/* Types that are not made at run time have no use for the collector; their namespace is reached by its view. */
static void walk_static_type(struct walk *walk, PyObject *type) {
        static const char *const names[] = {"__mro__", "__bases__", NULL};
        take_attributes(walk, type, names);
        PyObject *view = PyObject_GetAttrString(type, "__dict__");
        if (!view) {
                PyErr_Clear();
                return;
        }
        traverseproc traverse = traversal_of(Py_TYPE(view));
        if (traverse)
                traverse(view, make_immortal, walk);
        Py_DECREF(view);
}

/* The collector's own traversal leaves out keys that are strings, and code, which is in no cycle. */
static void walk_from(struct walk *walk, PyObject *object) {
        static const char *const code_parts[] = {"co_consts", "co_names",      "co_filename",       "co_name",
                                                 "co_qualname", "co_linetable", "co_exceptiontable", NULL};
        PyTypeObject *type = Py_TYPE(object);
        make_immortal((PyObject *)type, walk);
        if (type == walk->code_type) {
                take_attributes(walk, object, code_parts);
                return;
        }
        if (PyType_Check(object) && !(PyType_GetFlags((PyTypeObject *)object) & Py_TPFLAGS_HEAPTYPE)) {
                walk_static_type(walk, object);
                return;
        }
        if (PyDict_Check(object)) {
                PyObject *key, *value;
                for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value);) {
                        make_immortal(key, walk);
                        make_immortal(value, walk);
                }
        }
        if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_GC)) {
                traverseproc traverse = traversal_of(type);
                if (traverse)
                        traverse(object, make_immortal, walk);
        }
}

/* immortalise(objects, code type): the objects of a list, and what can be reached from them. How many there were. */
static PyObject *immortalise(PyObject *self, PyObject *args) {
        PyObject *objects, *code_type;
        (void)self;
        if (!PyArg_ParseTuple(args, "OO", &objects, &code_type))
                return NULL;
        struct walk walk = {.code_type = (PyTypeObject *)code_type};
        Py_ssize_t length = PyList_Size(objects); /* -1 with an exception if it is none */
        for (Py_ssize_t i = 0; i < length && !walk.out_of_memory; i++) {
                PyObject *object = PyList_GetItem(objects, i);
                if (object == args || object == objects)
                        continue; /* this call's own */
                make_immortal(object, &walk);
                walk_from(&walk, object); /* also what was immortal before: built-in types and what they hold */
                while (walk.count > 0 && !walk.out_of_memory)
                        walk_from(&walk, walk.found[--walk.count]);
        }
        free(walk.found);
        if (walk.out_of_memory)
                return PyErr_NoMemory();
        return length < 0 ? NULL : PyLong_FromSize_t(walk.made);
}

/* ---- gaps ---- */

#define LARGEST_GAP ((size_t)96 << 10) /* below the size from which malloc maps memory of its own, mallopt(3) */
#define SMALLEST_GAP ((size_t)24)

/*
 * fill_gaps(): takes every free piece below the top of malloc's heap, for good, so that what is allocated from now on
 * lies together above it. Whole free pages are given back first. How many bytes were taken.
 */
static PyObject *fill_gaps(PyObject *self, PyObject *unused) {
        size_t taken = 0;
        (void)self;
        (void)unused;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
        malloc_trim(0);
        const uintptr_t top = (uintptr_t)sbrk(0) - mallinfo2().keepcost - 64; /* about where the last piece begins */
        for (size_t size = LARGEST_GAP; size >= SMALLEST_GAP;) {
                void *piece = malloc(size);
                if (piece && (uintptr_t)piece < top) {
                        taken += malloc_usable_size(piece);
                        continue;
                }
                free(piece);
                size_t step = size / 16 > 16 ? size / 16 : 16;
                size = (size - step) & ~(size_t)15;
                size += 8; /* the sizes that fill malloc's pieces without a remainder */
        }
#endif
        return PyLong_FromSize_t(taken);
}

/* ---- arenas ---- */

/* Part of the interpreter's C API since 3.4, though not of the stable ABI (Include/cpython/pymem.h). */
struct arena_allocator {
        void *data;
        void *(*take)(void *data, size_t size);
        void (*give_back)(void *data, void *arena, size_t size);
};
void PyObject_GetArenaAllocator(struct arena_allocator *allocator);
void PyObject_SetArenaAllocator(struct arena_allocator *allocator);

#define HUGE_PAGE ((size_t)2 << 20)
#define ARENA ((size_t)1 << 20) /* as the interpreter asks for them since 3.10 */
#define ARENAS_MAX 512

static struct {
        char *start;                /* aligned to a huge page; NULL: not in use */
        unsigned used;              /* arenas that were handed out at least once */
        unsigned free_count;
        unsigned short free[ARENAS_MAX];
        struct arena_allocator usual; /* for what came before, and beyond */
} arenas;

static void *take_arena(void *data, size_t size) {
        (void)data;
        if (size != ARENA)
                return arenas.usual.take(arenas.usual.data, size);
        if (arenas.free_count > 0)
                return arenas.start + arenas.free[--arenas.free_count] * ARENA;
        if (arenas.used < ARENAS_MAX)
                return arenas.start + arenas.used++ * ARENA;
        return arenas.usual.take(arenas.usual.data, size);
}

static void give_arena_back(void *data, void *arena, size_t size) {
        (void)data;
        uintptr_t offset = (uintptr_t)arena - (uintptr_t)arenas.start;
        if (offset >= ARENAS_MAX * ARENA) {
                arenas.usual.give_back(arenas.usual.data, arena, size);
                return;
        }
        madvise(arena, size, MADV_DONTNEED);
        arenas.free[arenas.free_count++] = (unsigned short)(offset / ARENA);
}

/*
 * gather_arenas(): from now on the memory of objects lies in one place, so that it can be put on huge pages, which make
 * forking cheaper; the interpreter would map each megabyte wherever there is room. Whether it worked.
 */
static PyObject *gather_arenas(PyObject *self, PyObject *unused) {
        (void)self;
        (void)unused;
        if (arenas.start)
                Py_RETURN_TRUE;
        char *place = mmap(NULL, ARENAS_MAX * ARENA + HUGE_PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (place == MAP_FAILED)
                Py_RETURN_FALSE;
        arenas.start = place + (HUGE_PAGE - (uintptr_t)place % HUGE_PAGE) % HUGE_PAGE;
        PyObject_GetArenaAllocator(&arenas.usual);
        PyObject_SetArenaAllocator(&(struct arena_allocator){.take = take_arena, .give_back = give_arena_back});
        Py_RETURN_TRUE;
}

static PyMethodDef methods[] = {
        {"gather_arenas", gather_arenas, METH_NOARGS, "gather_arenas(): let the memory of objects lie in one place"},
        {"immortalise", immortalise, METH_VARARGS, "immortalise(objects, code type): never write their counts again"},
        {"fill_gaps", fill_gaps, METH_NOARGS, "fill_gaps(): let new memory lie together"},
        {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
        .m_base = PyModuleDef_HEAD_INIT,
        .m_name = "_shared_heap",
        .m_doc = "Prepares the template's heap to be shared with its children.",
        .m_size = -1,
        .m_methods = methods,
};

PyMODINIT_FUNC PyInit__shared_heap(void);
PyMODINIT_FUNC PyInit__shared_heap(void) {
        return PyModule_Create(&module);
}
