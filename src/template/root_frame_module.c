/*
 * _root_frame: runs a snippet so that nothing of the runner stands below it on the call stack.
 *
 * An extension module of the image's own Python; used by sandbox_runner in the sandbox, with the snippet's code as its
 * argument. A script's module frame has no caller. If the runner's frames were there, `inspect.stack()`, a warning with
 * a `stacklevel`, `traceback.print_stack()`, the debugger and the depth of a RecursionError would all tell of them.
 * Also here: what runs at the end of a script with nothing below it either (exit functions, the collector), and
 * reporting an exception as "ignored", in the interpreter's own words, for which Python code has no call.
 *
 * Built against the stable ABI, so that the distribution's headers serve for the image's interpreter. The interpreter's
 * list of frames is not part of that ABI: the fields are declared below as CPython 3.12 lays them out
 * (cpython/pystate.h and internal/pycore_frame.h; fixed for the life of 3.12), checked when the module is loaded, and
 * left alone in any other version or if the check fails. Snippets then run as well, only with the runner's frames below
 * theirs.
 */
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <signal.h>
#include <stdbool.h>
#include <string.h>

struct frame_3_12 { /* struct _PyInterpreterFrame */
        PyObject *code;
        struct frame_3_12 *previous;
        PyObject *function, *globals, *builtins, *locals;
        PyObject *frame_object;
};

struct cframe_3_12 { /* struct _PyCFrame */
        struct frame_3_12 *current_frame;
        struct cframe_3_12 *previous;
};

struct handled_3_12 { /* struct _err_stackitem */
        PyObject *exception;
        struct handled_3_12 *previous;
};

struct thread_3_12 { /* struct _ts, as far as it is needed */
        void *previous, *next, *interpreter;
        unsigned int status;
        int recursion_remaining, recursion_limit;
        int c_recursion_remaining, recursion_headroom;
        int tracing, what_event;
        struct cframe_3_12 *cframe;
        void *profile_function, *trace_function;
        PyObject *profile_object, *trace_object;
        PyObject *current_exception;
        struct handled_3_12 *handled;
};

static struct {
        bool layout_known;
        PyObject *settrace, *setprofile; /* the real ones, whatever a snippet puts in their place */
        bool outside;           /* the runner's own code is running, with its signals held */
        sigset_t snippet_mask;  /* then: what the snippet had blocked */
} root;

static struct thread_3_12 *this_thread(void) {
        return root.layout_known ? (struct thread_3_12 *)(void *)PyThreadState_Get() : NULL;
}

/* Reads what it already knows by other means, through the layout above. */
static bool layout_fits(void) {
        if (strncmp(Py_GetVersion(), "3.12.", 5) != 0)
                return false;
        const struct thread_3_12 *thread = (const struct thread_3_12 *)(const void *)PyThreadState_Get();
        if (thread->recursion_limit != Py_GetRecursionLimit() || thread->recursion_remaining > thread->recursion_limit)
                return false;
        PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
        return frame && thread->cframe && thread->cframe->current_frame &&
               thread->cframe->current_frame->frame_object == frame && thread->handled;
}

/* What is below, while it is out of sight. */
struct below {
        struct thread_3_12 *thread;
        struct cframe_3_12 *cframe;
        struct frame_3_12 *frame;
        PyObject *being_handled;
};

/* As deep as a fresh thread. Never undone: what runs after a snippet is not to fail because the snippet has set a tiny
 * limit. */
static void refresh_recursion(struct thread_3_12 *thread, int at_least) {
        int limit = thread->recursion_limit;
        thread->recursion_remaining = limit > at_least ? limit : at_least;
}

/* A snippet's signal handlers may raise. They run while its own code does, and wait while the runner's does. */
static void release_signals(void) {
        if (root.outside)
                pthread_sigmask(SIG_SETMASK, &root.snippet_mask, NULL);
        root.outside = false;
}

static void hold_signals(void) {
        static const int own_fault[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}; /* cannot wait */
        sigset_t all;
        sigfillset(&all);
        for (size_t i = 0; i < sizeof(own_fault) / sizeof(own_fault[0]); i++)
                sigdelset(&all, own_fault[i]);
        pthread_sigmask(SIG_BLOCK, &all, &root.snippet_mask);
        root.outside = true;
}

/* From here to reveal() there is no Python frame below, no exception is being handled, and signals come through. */
static struct below hide(void) {
        struct below below = {.thread = this_thread()};
        release_signals();
        if (!below.thread)
                return below;
        below.cframe = below.thread->cframe;
        below.frame = below.cframe->current_frame;
        below.being_handled = below.thread->handled->exception;
        below.cframe->current_frame = NULL;
        below.thread->handled->exception = NULL;
        return below;
}

static void reveal(const struct below *below) {
        if (!below->thread)
                return;
        below->cframe->current_frame = below->frame;
        below->thread->handled->exception = below->being_handled;
        refresh_recursion(below->thread, 1000);
}

/* A trace or profile function that the snippet left behind has no business with the runner. Called from C, so that it
 * does not get to see its own removal either. */
static void stop_tracing(const struct thread_3_12 *thread) {
        if (thread && !thread->trace_function && !thread->profile_function)
                return;
        PyObject *functions[] = {root.settrace, root.setprofile};
        for (size_t i = 0; i < 2; i++) {
                PyObject *done = PyObject_CallFunctionObjArgs(functions[i], Py_None, NULL);
                if (!done)
                        PyErr_Clear(); /* an audit hook of the snippet forbade it */
                Py_XDECREF(done);
        }
}

/* The exception that is set, as an object; clears it. */
static PyObject *take_exception(void) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback && value)
                PyException_SetTraceback(value, traceback);
        Py_XDECREF(type);
        Py_XDECREF(traceback);
        return value;
}

/* (value, None) or (None, exception). Takes the reference to `value`, which is NULL if an exception is set. From here
 * on signals wait; a handler that is due runs now, as the last of what the snippet did. */
static PyObject *value_or_exception(PyObject *value) {
        PyObject *exception = value ? NULL : take_exception();
        hold_signals();
        if (PyErr_CheckSignals() < 0) {
                PyObject *late = take_exception();
                Py_CLEAR(value);
                if (!exception)
                        exception = late;
                else
                        Py_XDECREF(late);
        }
        PyObject *both = PyTuple_Pack(2, value ? value : Py_None, exception ? exception : Py_None);
        Py_XDECREF(value);
        Py_XDECREF(exception);
        return both;
}

static PyObject *root_frame_run(PyObject *self, PyObject *args) {
        PyObject *code, *globals;
        (void)self;
        if (!PyArg_ParseTuple(args, "OO!", &code, &PyDict_Type, &globals))
                return NULL;
        struct below below = hide();
        if (below.thread)
                refresh_recursion(below.thread, 0);
        PyObject *value = PyEval_EvalCode(code, globals, globals);
        PyObject *both = value_or_exception(value);
        stop_tracing(below.thread);
        reveal(&below);
        return both;
}

static PyObject *root_frame_call(PyObject *self, PyObject *args) {
        (void)self;
        if (PyTuple_Size(args) < 1) {
                PyErr_SetString(PyExc_TypeError, "call() needs a function");
                return NULL;
        }
        PyObject *arguments = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
        if (!arguments)
                return NULL;
        struct below below = hide();
        PyObject *both = value_or_exception(PyObject_CallObject(PyTuple_GetItem(args, 0), arguments));
        reveal(&below);
        Py_DECREF(arguments);
        return both;
}

static PyObject *root_frame_ignore(PyObject *self, PyObject *args) {
        PyObject *exception, *where;
        (void)self;
        if (!PyArg_ParseTuple(args, "OO", &exception, &where))
                return NULL;
        struct below below = hide(); /* else the report would give our frame as the place */
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        PyErr_WriteUnraisable(where);
        PyObject *none = Py_None;
        Py_INCREF(none);
        Py_XDECREF(value_or_exception(none));
        reveal(&below);
        Py_RETURN_NONE;
}

static PyObject *root_frame_release(PyObject *self, PyObject *unused) {
        (void)self;
        (void)unused;
        release_signals();
        Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
        {"run", root_frame_run, METH_VARARGS,
         "run(code, globals) -> (value, exception): run it with no frame below; one of the two is None. Signals are "
         "held from then on, but while run, call or ignore are at work"},
        {"call", root_frame_call, METH_VARARGS,
         "call(function, *arguments) -> (value, exception): the same for a function"},
        {"ignore", root_frame_ignore, METH_VARARGS,
         "ignore(exception, where): hand it to sys.unraisablehook, as the interpreter does with what nobody can catch"},
        {"release", root_frame_release, METH_NOARGS, "release(): let signals through again"},
        {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
        .m_base = PyModuleDef_HEAD_INIT,
        .m_name = "_root_frame",
        .m_doc = "Runs code at the bottom of the call stack.",
        .m_size = -1,
        .m_methods = methods,
};

static PyObject *borrowed_from_sys(const char *name) {
        PyObject *object = PySys_GetObject(name);
        Py_XINCREF(object);
        return object;
}

PyMODINIT_FUNC PyInit__root_frame(void);
PyMODINIT_FUNC PyInit__root_frame(void) {
        PyObject *created = PyModule_Create(&module);
        root.settrace = borrowed_from_sys("settrace");
        root.setprofile = borrowed_from_sys("setprofile");
        root.layout_known = layout_fits();
        if (!created || !root.settrace || !root.setprofile ||
            PyModule_AddIntConstant(created, "hides_frames", root.layout_known) < 0) {
                Py_XDECREF(created);
                return NULL;
        }
        return created;
}
