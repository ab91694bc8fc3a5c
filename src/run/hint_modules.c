/* Modules that are not installed; see hint_modules.h. */
#include "run/hint_modules.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define NAME_MAX_BYTES 24 /* longer names are none of ours, however they are spelt */

static const struct {
        const char *module, *instead;
} alternatives[] = {
        {"altair", "matplotlib"},
        {"bokeh", "matplotlib"},
        {"plotly", "matplotlib"},
        {"seaborn", "matplotlib, or the plot methods of pandas"},
        {"cv2", "PIL, numpy and scipy.ndimage"},
        {"imageio", "PIL"},
        {"skimage", "PIL and scipy.ndimage"},
        {"catboost", "sklearn.ensemble"},
        {"jax", "numpy"},
        {"keras", "sklearn.neural_network"},
        {"lightgbm", "sklearn.ensemble"},
        {"tensorflow", "sklearn.neural_network"},
        {"torch", "sklearn.neural_network"},
        {"xgboost", "sklearn.ensemble"},
        {"statsmodels", "scipy.stats and sklearn.linear_model"},
        {"pingouin", "scipy.stats"},
        {"prophet", "scipy and sklearn"},
        {"dask", "pandas, with chunksize="},
        {"duckdb", "pandas, or sqlite3"},
        {"fastparquet", "CSV files"},
        {"modin", "pandas"},
        {"polars", "pandas"},
        {"pyarrow", "CSV files"},
        {"pyspark", "pandas"},
        {"tables", "CSV files"},
        {"h5py", "numpy.savez"},
        {"odf", "openpyxl and .xlsx files"},
        {"xlrd", "openpyxl and .xlsx files"},
        {"xlsxwriter", "openpyxl"},
        {"xlwt", "openpyxl"},
        {"docx", "zipfile and xml.etree, as .docx files are zip archives"},
        {"pptx", "zipfile and xml.etree, as .pptx files are zip archives"},
        {"fpdf", "matplotlib.backends.backend_pdf"},
        {"reportlab", "matplotlib.backends.backend_pdf"},
        {"bs4", "html.parser"},
        {"lxml", "xml.etree"},
        {"networkx", "scipy.sparse.csgraph"},
        {"numba", "numpy"},
        {"cupy", "numpy"},
        {"nltk", "re and collections"},
        {"spacy", "re and collections"},
        {"psycopg2", "sqlite3"},
        {"sqlalchemy", "sqlite3"},
        {"orjson", "json"},
        {"simplejson", "json"},
        {"ujson", "json"},
        {"yaml", "json, or configparser"},
        {"toml", "tomllib"},
        {"pytz", "zoneinfo"},
        {"pendulum", "datetime"},
        {"regex", "re"},
        {"tabulate", "to_string() of pandas"},
        {"tqdm", "print()"},
        {"rich", "print()"},
        {"IPython", "a last expression, or plt.show()"},
        {"gmpy2", "int, or sympy"},
        {"cvxpy", "scipy.optimize"},
        {"ortools", "scipy.optimize"},
        {"pulp", "scipy.optimize.milp"},
};

/* Packages of the image whose modules have names, with those that people take for them. */
static const struct {
        const char *library, *module, *also;
} installed[] = {
        {"numpy", "numpy", NULL},
        {"pandas", "pandas", NULL},
        {"matplotlib", "matplotlib", NULL},
        {"scipy", "scipy", NULL},
        {"scikit-learn", "sklearn", "scikit_learn"},
        {"sympy", "sympy", NULL},
        {"openpyxl", "openpyxl", NULL},
        {"pillow", "PIL", "pillow"},
};

const char *module_alternative(const char *module) {
        size_t length = strcspn(module, ".");
        for (size_t i = 0; i < ARRAY_SIZE(alternatives); i++)
                if (strlen(alternatives[i].module) == length &&
                    strncasecmp(alternatives[i].module, module, length) == 0)
                        return alternatives[i].instead;
        return NULL;
}

static size_t least(size_t a, size_t b, size_t c) {
        size_t ab = a < b ? a : b;
        return ab < c ? ab : c;
}

/* How many letters would have to be put in, left out or changed (Levenshtein). */
static size_t distance(const char *a, const char *b) {
        size_t row[NAME_MAX_BYTES + 1], length = strlen(b);
        for (size_t j = 0; j <= length; j++)
                row[j] = j;
        for (size_t i = 0; a[i]; i++) {
                size_t corner = row[0];
                row[0] = i + 1;
                for (size_t j = 0; j < length; j++) {
                        size_t above = row[j + 1];
                        row[j + 1] = least(above + 1, row[j] + 1, corner + (a[i] != b[j]));
                        corner = above;
                }
        }
        return row[length];
}

const char *module_meant(const char *module, const char *libraries) {
        size_t length = strlen(module);
        if (length < 3 || length > NAME_MAX_BYTES)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(installed); i++) {
                if (!strstr(libraries, installed[i].library))
                        continue;
                if (strcasecmp(module, installed[i].module) == 0 ||
                    (installed[i].also && strcasecmp(module, installed[i].also) == 0))
                        return installed[i].module;
                size_t near = strlen(installed[i].module) < 5 ? 0 : length < 6 ? 1 : 2;
                if (near > 0 && distance(module, installed[i].module) <= near)
                        return installed[i].module;
        }
        return NULL;
}

const char *module_installed_top(const char *module, const char *libraries) {
        size_t length = strcspn(module, ".");
        for (size_t i = 0; module[length] && i < ARRAY_SIZE(installed); i++)
                if (strstr(libraries, installed[i].library) && strlen(installed[i].module) == length &&
                    strncmp(installed[i].module, module, length) == 0)
                        return installed[i].module;
        return NULL;
}
